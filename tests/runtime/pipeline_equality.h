// A network in stages, trained in different ways that must give the same bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/runtime/trainee.h"

namespace pando::runtime {

struct PipelineCase {
  TestNetwork network;
  std::vector<std::string> splits;
  int64_t batch = 2;
  int slices = 1;
  int micro_batches = 5;
  int replicas = 1;
  Precision precision = {};
  HalfOptions half = {};
  // Two whole updates, and one of which the last micro-batch has one sample and others are missing.
  int64_t samples() const {
    return batch * replicas * (2 * int64_t{micro_batches} + (micro_batches + 1) / 2) + 1;
  }
};

struct Way {
  PipelineSchedule schedule = PipelineSchedule::grouped;
  compiler::Recomputation recomputation = compiler::Recomputation::none;
  std::vector<int> mapping;
  int workers = 1;
};

inline std::string to_string(const Way& way) {
  std::string text = to_string(way.schedule);
  text += concat(", recomputation ", static_cast<int>(way.recomputation), ", workers ", way.workers,
                 ", mapping");
  for (const int device : way.mapping) text += concat(" ", device);
  return text;
}

// Options of a staged network; without splits nothing is pipelined.
inline TraineeOptions options_of(const PipelineCase& test, const Way& way,
                                 RunMode mode = RunMode::train) {
  TraineeOptions options{.workers = way.workers,
                         .slices = test.slices,
                         .batch = test.batch,
                         .mode = mode,
                         .placement = {.replicas = test.replicas,
                                       .device_of_stage = way.mapping,
                                       .schedule = way.schedule,
                                       .micro_batches = test.micro_batches},
                         .shares_cores = true};
  options.compiling.pipelined = !test.splits.empty();
  options.compiling.recomputation = way.recomputation;
  options.compiling.precision = test.precision;
  options.compiling.half = test.half;
  return options;
}

inline TestNetwork staged(const PipelineCase& test) {
  TestNetwork network = test.network;
  if (!test.splits.empty()) network.network = network.network.with_splits(test.splits);
  return network;
}

// The variables and slots after training, and the losses of all steps.
inline std::string learned(const PipelineCase& test, const Way& way) {
  Trainee trainee(staged(test), options_of(test, way));
  Samples samples(training_fields(test.network), test.samples(),
                  test.network.network.outputs()[0].shape.back());
  const ExecutionTotals totals = trainee.run(samples.feed(test.batch), {.keep_steps = true});
  EXPECT_EQ(totals.updates, 3);
  EXPECT_EQ(totals.all.samples, test.samples());
  EXPECT_TRUE(totals.finite);
  std::string bytes = trainee.state();
  for (int64_t step = 0; step < 2 * test.micro_batches; ++step) {
    for (int replica = 0; replica < test.replicas; ++replica) {
      const double loss = trainee.executor().step_values(step, replica).loss;
      bytes.append(reinterpret_cast<const char*>(&loss), sizeof loss);
    }
  }
  return bytes;
}

inline void expect_same_bits(const PipelineCase& test, const std::vector<Way>& ways) {
  const std::string expected = learned(test, {});
  for (const Way& way : ways) {
    EXPECT_TRUE(learned(test, way) == expected)
        << test.network.name << " in " << test.splits.size() + 1 << " stages, " << test.slices
        << " slices: " << to_string(way);
  }
}

}  // namespace pando::runtime
