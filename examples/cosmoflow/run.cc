// SPDX-License-Identifier: MIT
#include "run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/new_file.h"

namespace cosmo {

using namespace pando;
using pando::UsageError;

void Run::tell(std::string_view line) const {
  if (instances.is_first()) std::cout << line << std::endl;
}

void Run::write(const std::string& name, const std::string& text) const {
  instances.from_first([&] {
    std::error_code failure;
    std::filesystem::create_directories(config.output_dir, failure);
    if (failure) {
      throw IoError("output_dir: cannot create ", config.output_dir, ": ", failure.message());
    }
    NewFile file(path(name));
    file.write(std::as_bytes(std::span(text)));
    file.commit();
    return std::string();
  });
}

Network make_network(const Config& config) {
  const ModelConfig& model = config.model;
  const Shape sample(config.data.sample_shape);
  const int64_t targets = config.data.target_shape[0];
  if (model.name == "resnet") return cosmoflow_resnet(sample, targets, {.dropout = model.dropout});
  const CosmoflowOptions options{.conv_size = model.conv_size,
                                 .kernel_size = model.kernel_size,
                                 .conv_layers = model.n_conv_layers,
                                 .fc1_size = model.fc1_size,
                                 .fc2_size = model.fc2_size,
                                 .hidden_activation = model.hidden_activation,
                                 .average_pooling = model.average_pooling,
                                 .dropout = model.dropout};
  return model.name == "cosmoflow" ? cosmoflow(sample, targets, options)
                                   : cosmoflow_v1(sample, targets, options);
}

double learning_rate(const Config& config) {
  switch (config.optimizer.lr_scaling.value_or(RateScaling::none)) {
    case RateScaling::linear: return config.optimizer.lr * config.replicas;
    case RateScaling::square_root: return config.optimizer.lr * std::sqrt(config.replicas);
    case RateScaling::none: break;
  }
  return config.optimizer.lr;
}

Optimizer make_optimizer(const Config& config) {
  const double rate = learning_rate(config);
  const double momentum = config.optimizer.momentum.value_or(0);
  if (config.optimizer.name == "sgd") return SGD({.learning_rate = rate, .momentum = momentum});
  if (config.optimizer.name == "rmsprop") {
    return RMSprop({.learning_rate = rate, .momentum = momentum});
  }
  if (config.optimizer.name == "lars") {
    return LARS({.learning_rate = rate,
                 .momentum = config.optimizer.momentum.value_or(LarsOptions{}.momentum)});
  }
  Optimizer optimizer = pando::make_optimizer(config.optimizer.name);
  optimizer.learning_rate = rate;
  return optimizer;
}

std::vector<Metric> make_metrics(const Config& config) {
  std::vector<Metric> metrics = {"mae"};
  for (const std::string& name : config.train.metrics) {
    if (name == "mse" || name == "mean_squared_error") metrics.emplace_back("mse");
  }
  return metrics;
}

Plan make_plan(const Config& config) {
  const DataConfig& data = config.data;
  const int64_t loop = config.device.iterations_per_loop;
  const int64_t steps = data.n_epochs * data.n_train / config.samples_per_step();
  const std::string rule =
      fmt::format("n_epochs * n_train // (micro_batch_size * replicas) = {} * {} // ({} * {}) = {}",
                  data.n_epochs, data.n_train, data.micro_batch_size, config.replicas, steps);
  if (steps < 1) {
    throw UsageError("steps = ", rule,
                     "; expected at least 1: use a larger --n-train or --n-epochs");
  }
  if (steps < loop) {
    throw UsageError("steps = ", rule, ", fewer than iterations_per_loop ", loop,
                     ", which does not fill one loop; use --iterations-per-loop ", steps,
                     " or less, or more samples");
  }
  if (config.use_estimator && steps % loop != 0) {
    int64_t divisor = loop;
    while (steps % divisor != 0) --divisor;
    throw UsageError("steps = ", rule, ", but --use-estimator requires a multiple of ",
                     "iterations_per_loop ", loop, "; use for example --iterations-per-loop ",
                     divisor);
  }
  const int64_t samples_per_loop = config.samples_per_step() * loop;
  const bool whole_epochs = data.n_train % samples_per_loop == 0;
  return {.loops = steps / loop,
          .loops_per_epoch = whole_epochs ? data.n_train / samples_per_loop : 0,
          .steps = steps};
}

std::string text_of(const Logs& logs) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : logs) parts.push_back(fmt::format("{} {:.6g}", name, value));
  return join(parts, ", ");
}

}  // namespace cosmo
