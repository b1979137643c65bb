// The checked description that a model function gave for one mode. Networks in one piece and
// networks in stages have the same form.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "pando/estimator/estimator_spec.h"
#include "pando/nn/network.h"

namespace pando::estimator {

struct Description {
  Network network;
  std::optional<Loss> loss;         // not in prediction
  std::optional<TrainOp> train_op;  // only in training
  std::vector<Metric> metrics;      // of the mode
  HostMetrics host_metrics;
  std::vector<PredictionOutput> predictions;
  std::function<void(int64_t global_step, const Logs& values)> host_call;
  std::vector<std::shared_ptr<Hook>> hooks;     // of the mode
  std::optional<PipeliningOptions> pipelining;  // of a PipelineEstimator
};

struct DescribeRequest {
  RunMode mode = RunMode::train;
  std::vector<Field> fields;  // of the data
  Params params;
  RunConfig config;
  int64_t global_step = 0;
};
using Describe = std::function<Description(const DescribeRequest&)>;

// Returns a function that calls `model_fn` and checks its result. It throws InvalidArgument that
// names the broken rule.
Describe describe_with(ModelFn model_fn);
Describe describe_with(PipelineModelFn model_fn);

}  // namespace pando::estimator
