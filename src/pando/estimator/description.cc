// SPDX-License-Identifier: MIT
#include "pando/estimator/description.h"

#include <set>

#include "pando/base/error.h"
#include "pando/nn/pipeline_stage.h"

namespace pando::estimator {

namespace {

SymbolicTensor features_of(const std::vector<Field>& fields) {
  return Input(fields.at(0).shape, {.dtype = fields[0].dtype});
}

std::optional<Field> labels_of(const DescribeRequest& request) {
  if (request.mode == RunMode::predict || request.fields.size() < 2) return std::nullopt;
  return request.fields[1];
}

[[noreturn]] void missing(const char* spec, RunMode mode, const char* what) {
  throw InvalidArgument(spec, ": mode ", to_string(mode), " needs ", what);
}

// Checks what both kinds of specs must have in a mode.
template <typename Spec>
void check_spec(const char* name, const Spec& spec, const DescribeRequest& request) {
  const RunMode mode = request.mode;
  if (mode == RunMode::predict) {
    if (spec.predictions.empty()) missing(name, mode, "predictions");
    std::set<std::string> names;
    for (const PredictionOutput& output : spec.predictions) {
      if (names.insert(output.name).second) continue;
      throw InvalidArgument(name, ": two predictions have the name '", output.name, "'");
    }
    return;
  }
  if (!spec.loss) missing(name, mode, "loss");
  if (mode == RunMode::train && !spec.train_op) {
    missing(name, mode, "train_op: an optimizer, or a CrossReplicaOptimizer");
  }
  if (mode != RunMode::evaluate) return;
  const bool on_devices = !spec.eval_metric_ops.empty();
  const bool on_host = static_cast<bool>(spec.eval_metrics);
  if (on_devices == on_host) {
    throw InvalidArgument(name,
                          ": mode evaluate needs exactly one of eval_metric_ops and "
                          "eval_metrics, got ",
                          on_host ? "both" : "none");
  }
}

template <typename Spec>
Description describe_spec(Spec& spec, Network network, RunMode mode) {
  Description description{.network = std::move(network),
                          .loss = std::move(spec.loss),
                          .train_op = std::move(spec.train_op),
                          .metrics = {},
                          .host_metrics = {},
                          .predictions = std::move(spec.predictions),
                          .host_call = {},
                          .hooks = {},
                          .pipelining = {}};
  switch (mode) {
    case RunMode::train:
      description.metrics = std::move(spec.train_metrics);
      description.hooks = std::move(spec.training_hooks);
      break;
    case RunMode::evaluate:
      description.metrics = std::move(spec.eval_metric_ops);
      description.host_metrics = std::move(spec.eval_metrics);
      description.hooks = std::move(spec.evaluation_hooks);
      break;
    case RunMode::predict: description.hooks = std::move(spec.prediction_hooks); break;
  }
  return description;
}

void check_shards(const Network& network, const DeviceRunConfig& device) {
  if (network.stages() > device.num_shards) {
    throw InvalidArgument("num_shards: expected at least one shard per stage of the network, got ",
                          device.num_shards, " for ", network.stages(), " stages");
  }
}

void check_accumulation(int count, const DescribeRequest& request) {
  if (count < 1) {
    throw InvalidArgument(
        "PipelineEstimatorSpec: gradient_accumulation_count: expected at least 1, got ", count);
  }
  const int64_t loop = request.config.device.iterations_per_loop;
  if (request.mode == RunMode::train && loop % count != 0) {
    throw InvalidArgument(
        "PipelineEstimatorSpec: iterations_per_loop: expected a multiple of "
        "gradient_accumulation_count ",
        count, ", got ", loop);
  }
}

void check_device_mapping(const PipelineEstimatorSpec& spec, const DeviceRunConfig& device) {
  const std::vector<int>& mapping = spec.device_mapping;
  if (mapping.empty()) return;
  if (mapping.size() != spec.computational_stages.size()) {
    throw InvalidArgument("PipelineEstimatorSpec: device_mapping: expected an entry for each of ",
                          spec.computational_stages.size(), " stages, got ", mapping.size());
  }
  for (size_t i = 0; i < mapping.size(); ++i) {
    if (mapping[i] >= 0 && mapping[i] < device.num_shards) continue;
    throw InvalidArgument("PipelineEstimatorSpec: device_mapping: expected devices 0 to ",
                          device.num_shards - 1, " (num_shards is ", device.num_shards, "), got ",
                          mapping[i], " for stage ", i);
  }
}

// Checks the number of devices that a pipeline uses against the number that it has.
void check_pipeline_devices(const PipelineEstimatorSpec& spec, const DeviceRunConfig& device) {
  check_device_mapping(spec, device);
  const std::set<int> distinct(spec.device_mapping.begin(), spec.device_mapping.end());
  const size_t used =
      spec.device_mapping.empty() ? spec.computational_stages.size() : distinct.size();
  const auto most = static_cast<size_t>(device.num_shards);
  const size_t least = most / 2 + 1;
  if (used >= least && used <= most) return;
  throw InvalidArgument("PipelineEstimatorSpec: with num_shards ", device.num_shards,
                        " expected a pipeline on ", least, " to ", most, " devices, got ", used);
}

Network staged_network(const PipelineEstimatorSpec& spec, const DescribeRequest& request) {
  const SymbolicTensor features = features_of(request.fields);
  SymbolicTensor x = features;
  for (size_t i = 0; i < spec.computational_stages.size(); ++i) {
    if (!spec.computational_stages[i]) {
      throw InvalidArgument("PipelineEstimatorSpec: stage ", i, " is an empty function");
    }
    const PipelineStage stage(static_cast<int>(i));
    x = spec.computational_stages[i](x);
  }
  return {features, x};
}

}  // namespace

Describe describe_with(ModelFn model_fn) {
  if (!model_fn) throw InvalidArgument("Estimator: the model function is empty");
  return [model_fn = std::move(model_fn)](const DescribeRequest& request) {
    const SymbolicTensor features = features_of(request.fields);
    EstimatorSpec spec = model_fn({.features = features,
                                   .labels = labels_of(request),
                                   .mode = request.mode,
                                   .params = request.params,
                                   .config = request.config,
                                   .global_step = request.global_step});
    if (!spec.output) missing("EstimatorSpec", request.mode, "output: the result of the network");
    check_spec("EstimatorSpec", spec, request);
    if (spec.host_call && request.config.device.iterations_per_loop != 1) {
      throw InvalidArgument("EstimatorSpec: host_call needs iterations_per_loop 1, got ",
                            request.config.device.iterations_per_loop);
    }
    Network network(features, *spec.output);
    check_shards(network, request.config.device);
    Description description = describe_spec(spec, std::move(network), request.mode);
    if (request.mode == RunMode::train) description.host_call = std::move(spec.host_call);
    return description;
  };
}

Describe describe_with(PipelineModelFn model_fn) {
  if (!model_fn) throw InvalidArgument("PipelineEstimator: the model function is empty");
  return [model_fn = std::move(model_fn)](const DescribeRequest& request) {
    PipelineEstimatorSpec spec = model_fn({.labels = labels_of(request),
                                           .mode = request.mode,
                                           .params = request.params,
                                           .config = request.config,
                                           .global_step = request.global_step});
    if (spec.computational_stages.size() < 2) {
      throw InvalidArgument(
          "PipelineEstimatorSpec: computational_stages: expected at least 2, got ",
          spec.computational_stages.size());
    }
    check_spec("PipelineEstimatorSpec", spec, request);
    check_accumulation(spec.gradient_accumulation_count, request);
    check_pipeline_devices(spec, request.config.device);
    Description description = describe_spec(spec, staged_network(spec, request), request.mode);
    description.pipelining = {
        .gradient_accumulation_steps_per_replica = spec.gradient_accumulation_count,
        .device_mapping = spec.device_mapping,
        .schedule = spec.schedule,
        .recomputation = spec.recomputation,
        .reduction = spec.reduction};
    return description;
  };
}

}  // namespace pando::estimator
