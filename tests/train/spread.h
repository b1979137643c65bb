// A model and ways to spread it over devices, for tests that compare what they learn.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tests/train/train_support.h"

namespace pando {

// A network without batch statistics, with dropout and a connection across stages.
inline Network plain_cnn() {
  const SymbolicTensor input = Input({6, 6, 1});
  SymbolicTensor x = Conv2D(
      {.filters = 4, .kernel = {3, 3}, .padding = "same", .activation = "relu", .name = "first"})(
      input);
  const SymbolicTensor shortcut = x;
  x = Conv2D({.filters = 4, .kernel = {3, 3}, .padding = "same", .name = "second"})(x);
  x = Dropout({.rate = 0.3, .name = "drop"})(x);
  x = Add({.name = "join"})(std::vector{x, shortcut});
  x = MaxPooling2D({.name = "pool"})(x);
  x = Flatten({.name = "flat"})(x);
  return Network(input, Dense({.units = 3, .activation = "softmax", .name = "last"})(x));
}

// One way to run a fit of 44 samples in updates of 16: two whole ones and one of 12.
struct Spread {
  int devices = 1;
  int64_t micro_batch = 2;
  int accumulation = 8;
  std::vector<std::string> splits;
  std::vector<int> mapping;
  PipelineSchedule schedule = PipelineSchedule::grouped;
  Recomputation recomputation = Recomputation::none;
  int slices = 1;
  GradientReduction reduction = GradientReduction::mean;
  ReplicationOptions replication;
  int64_t steps_per_execution = 0;
  bool pipelined_inference = true;
  Precision precision = {};
  HalfOptions half = {};
  double ema_decay = 0;
};

inline Model spread(const Network& network, const Spread& how) {
  const DeviceStrategy strategy({.devices = how.devices});
  const auto scope = strategy.scope();
  Model model(network, {.seed = 5});
  if (!how.splits.empty()) model.set_pipeline_splits(how.splits);
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = how.accumulation,
                                .device_mapping = how.mapping,
                                .schedule = how.schedule,
                                .recomputation = how.recomputation,
                                .reduction = how.reduction,
                                .pipelined_inference = how.pipelined_inference});
  model.set_replication_options(how.replication);
  CompileOptions compiling =
      classifier(with_average(SGD({.learning_rate = 0.1, .momentum = 0.9}), how.ema_decay),
                 {.slices = how.slices});
  compiling.steps_per_execution = how.steps_per_execution;
  compiling.precision = how.precision;
  compiling.half = how.half;
  model.compile(std::move(compiling));
  return model;
}

inline Model trained(const Network& network, const Spread& how) {
  Model model = spread(network, how);
  model.fit(image_data(44), {.epochs = 2, .batch_size = how.micro_batch, .verbose = 0});
  return model;
}

}  // namespace pando
