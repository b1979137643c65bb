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

// In half precision a mean is a running_mean: sums may leave the range of f16.
struct GradientAccumulationOptions {
  int steps_per_replica = 1;  // micro-batches of a replica per weight update
  GradientReduction reduction = GradientReduction::mean;
};

// For models with pipeline stages.
struct PipeliningOptions {
  int gradient_accumulation_steps_per_replica = 1;
  std::vector<int> device_mapping;  // the device of each stage, within a replica; empty: one each
  PipelineSchedule schedule = PipelineSchedule::grouped;
  Recomputation recomputation = Recomputation::none;
  GradientReduction reduction = GradientReduction::mean;
  // Whether evaluation and prediction go through the same pipeline. Otherwise every device runs the
  // whole model on data of its own.
  bool pipelined_inference = true;
};

// What is logged of a metric that every replica has found on its own samples. mean: over all
// samples; sum: of the replicas' means; none: that of the last replica; list: all of them, as
// "loss[0]", "loss[1]", ...
enum class MetricReduction { mean, sum, none, list };

struct ReplicationOptions {
  MetricReduction metrics = MetricReduction::mean;
  // So many replicas in a row take the statistics of batch normalisation together.
  int statistics_group = 1;
  // How gradients travel between the instances of a job.
  comm::WireFormat wire = comm::WireFormat::f32;
  // In evaluation and prediction; 0: as many as the devices hold. Results do not depend on it.
  int inference_replicas = 0;
};

// Where Model::measure_pipeline_splits would split.
struct MeasuredSplits {
  std::vector<std::string> splits;             // for set_pipeline_splits()
  std::vector<runtime::StageSeconds> seconds;  // that each stage takes for a micro-batch
};

}  // namespace pando
