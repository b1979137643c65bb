// A small classifier in stages and in one piece, for tests of pipelines and shards.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "tests/estimator/estimator_support.h"

namespace pando::estimator_tests {

using Spec = PipelineEstimatorSpec;
using Weights = std::map<std::string, Tensor>;

inline Layer conv() {
  return Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "relu", .name = "conv"});
}
inline Layer hidden() { return Dense({.units = 8, .activation = "relu", .name = "hidden"}); }
inline Layer classes() { return Dense({.units = 3, .activation = "softmax", .name = "classes"}); }

inline Optimizer momentum(double rate = 0.05) {
  return SGD({.learning_rate = rate, .momentum = 0.9});
}

// The spec of the network in two stages, with all that each mode needs.
inline Spec two_stages() {
  return {.computational_stages = {[](const SymbolicTensor& x) {
                                     return Flatten({.name = "flat"})(
                                         MaxPooling2D({.name = "pool"})(conv()(x)));
                                   },
                                   [](const SymbolicTensor& x) { return classes()(hidden()(x)); }},
          .gradient_accumulation_count = 2,
          .loss = "sparse_categorical_crossentropy",
          .train_op = CrossReplicaOptimizer(momentum()),
          .eval_metric_ops = {"accuracy"},
          .predictions = {OutputValues("probabilities"), ClassNumbers("classes")}};
}

// The same network in one piece.
inline EstimatorSpec in_one_piece(const ModelInput& input) {
  SymbolicTensor x = MaxPooling2D({.name = "pool"})(conv()(input.features));
  x = classes()(hidden()(Flatten({.name = "flat"})(x)));
  return {.output = x,
          .loss = "sparse_categorical_crossentropy",
          .train_op = CrossReplicaOptimizer(momentum()),
          .eval_metric_ops = {"accuracy"},
          .predictions = {OutputValues("probabilities"), ClassNumbers("classes")}};
}

using Change = std::function<void(Spec&)>;
inline PipelineModelFn stages_with(const Change& change = {}) {
  return [change](const PipelineModelInput&) {
    Spec spec = two_stages();
    if (change) change(spec);
    return spec;
  };
}

inline EstimatorOptions options_with(DeviceRunConfig device, const std::string& model_dir) {
  EstimatorOptions options{.model_dir = model_dir, .config = config_of(std::move(device))};
  options.config.random_seed = 5;
  return options;
}

inline DeviceRunConfig device_with(int replicas, int shards, int64_t iterations = 4) {
  return {.iterations_per_loop = iterations,
          .num_replicas = replicas,
          .num_shards = shards,
          .devices = {{.devices = replicas * shards}}};
}

inline Weights weights_of(const Estimator& estimator) {
  Weights weights;
  for (const std::string& name : estimator.variable_names()) {
    weights.emplace(name, estimator.variable_value(name));
  }
  return weights;
}

inline double largest_difference(const Weights& a, const Weights& b) {
  EXPECT_EQ(a.size(), 6u);
  EXPECT_EQ(b.size(), 6u);
  double largest = 0;
  for (const auto& entry : a) {
    largest = std::max(largest, difference(entry.second, b.at(entry.first)).absolute);
  }
  return largest;
}

inline constexpr double kRounding = 2e-6;

}  // namespace pando::estimator_tests
