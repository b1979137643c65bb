// How a model is spread over devices: pipelining, gradient accumulation, replication. None of it
// changes the description of the model.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/comm/wire.h"
#include "pando/compiler/pass.h"
#include "pando/runtime/program/placement.h"

namespace pando {

using compiler::Recomputation;
using runtime::GradientReduction;

// In half precision a mean is computed as a running_mean: sums may leave the range of f16.
struct GradientAccumulationOptions {
  int steps_per_replica = 1;  // micro-batches of a replica per weight update
  GradientReduction reduction = GradientReduction::mean;
};

// For models with pipeline stages.
struct PipeliningOptions {
  int gradient_accumulation_steps_per_replica = 1;
  std::vector<int> device_mapping;  // each stage's device within a replica; empty: one device each
  PipelineSchedule schedule = PipelineSchedule::grouped;
  Recomputation recomputation = Recomputation::none;
  GradientReduction reduction = GradientReduction::mean;
  // Whether evaluation and prediction use the same pipeline. Otherwise every device runs the whole
  // model on its own data.
  bool pipelined_inference = true;
};

// How a metric that every replica computes on its own samples is logged. mean: over all samples;
// sum: the sum of the replicas' means; none: that of the last replica; list: all of them, as
// "loss[0]", "loss[1]", ...
enum class MetricReduction { mean, sum, none, list };

struct ReplicationOptions {
  MetricReduction metrics = MetricReduction::mean;
  // This many consecutive replicas compute the statistics of batch normalisation together.
  int statistics_group = 1;
  // How gradients are sent between the instances of a job.
  comm::WireFormat wire = comm::WireFormat::f32;
  // Replicas in evaluation and prediction; 0: as many as the devices hold. Results do not depend on
  // it.
  int inference_replicas = 0;
};

// The result of Model::measure_pipeline_splits().
struct MeasuredSplits {
  std::vector<std::string> splits;             // for set_pipeline_splits()
  std::vector<runtime::StageSeconds> seconds;  // that each stage takes for a micro-batch
};

}  // namespace pando
