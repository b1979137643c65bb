// Shared by the tests of estimators: a small classifier, data, and a collector of lines.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pando/estimator/estimator.h"
#include "tests/train/train_support.h"

namespace pando::estimator_tests {

// Lines that an estimator wrote.
using Lines = std::shared_ptr<std::vector<std::string>>;
inline Lines make_lines() { return std::make_shared<std::vector<std::string>>(); }

inline RunConfig config_of(DeviceRunConfig device = {}, const Lines& lines = make_lines()) {
  RunConfig config{.device = std::move(device)};
  config.tell = [lines](std::string_view line) { lines->emplace_back(line); };
  return config;
}

inline SymbolicTensor small_network(const SymbolicTensor& features) {
  auto x = Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "relu"})(features);
  x = Flatten()(MaxPooling2D()(x));
  x = Dropout({.rate = 0.1})(x);
  return Dense({.units = 3})(x);
}

inline EstimatorSpec classifier_spec(const ModelInput& in, TrainOp train_op) {
  return {.output = small_network(in.features),
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .train_op = std::move(train_op),
          .train_metrics = {"accuracy"},
          .eval_metric_ops = {"accuracy"},
          .predictions = {ClassNumbers(), Probabilities(), OutputValues("logits")}};
}

inline EstimatorSpec classifier_fn(const ModelInput& in) {
  return classifier_spec(in, SGD({.learning_rate = 0.1, .momentum = 0.5}));
}
inline EstimatorSpec replicated_fn(const ModelInput& in) {
  return classifier_spec(in, CrossReplicaOptimizer(SGD({.learning_rate = 0.1, .momentum = 0.5})));
}

inline InputFn endless(int64_t samples = 24, int64_t batch = 4) {
  return [=](const InputContext&) {
    return InputData(image_data(samples).shuffle({.seed = 3}).repeat(), batch);
  };
}
inline InputFn finite(int64_t samples = 24, int64_t batch = 4, uint64_t key = 7) {
  return [=](const InputContext&) { return InputData(image_data(samples, key), batch); };
}

inline std::vector<Tensor> values_of(const Estimator& estimator) {
  std::vector<Tensor> values;
  for (const std::string& name : estimator.variable_names()) {
    values.push_back(estimator.variable_value(name));
  }
  return values;
}

}  // namespace pando::estimator_tests
