// SPDX-License-Identifier: MIT
#include "pando/estimator/run_model.h"

#include <map>

#include "pando/base/error.h"
#include "pando/comm/dist.h"
#include "pando/comm/job.h"
#include "pando/estimator/autoshard.h"

namespace pando::estimator {

namespace {

void check_replicas(const Description& description, const DeviceRunConfig& device) {
  const std::optional<int> told = comm::current_job().total_replicas;
  const int total = device.num_replicas * dist::num_instances();
  if (told && *told != total) {
    throw InvalidArgument("RunConfig: num_replicas: the launcher set ", *told,
                          " replicas in all, got ", device.num_replicas, " on each of ",
                          dist::num_instances(),
                          " instances; use num_replicas = dist::num_local_replicas()");
  }
  if (total == 1 || description.train_op->cross_replica) return;
  throw InvalidArgument("there are ", total,
                        " replicas, but train_op does not sum gradients over them, so each would "
                        "train its own model; wrap the optimizer in CrossReplicaOptimizer");
}

// The devices of the chosen set; for each replica, as many as the network uses.
DeviceStrategyOptions devices_for(const DeviceRunConfig& device, int used) {
  if (device.devices.empty()) return {};
  DeviceStrategyOptions chosen = device.devices[static_cast<size_t>(device.ordinal)];
  chosen.devices = device.num_replicas * used;
  if (chosen.core_sets.empty()) return chosen;
  std::vector<std::vector<int>> sets;
  for (int replica = 0; replica < device.num_replicas; ++replica) {
    const auto first = chosen.core_sets.begin() + ptrdiff_t{replica} * device.num_shards;
    sets.insert(sets.end(), first, first + used);
  }
  chosen.core_sets = std::move(sets);
  return chosen;
}

// Applies autosharding, in training only. The shards work one after the other.
Network network_for(const Description& description, const RunModelRequest& request) {
  const DeviceRunConfig& device = request.config->device;
  const bool cut = device.autosharding && device.num_shards > 1 && request.mode == RunMode::train;
  if (!cut) return description.network;
  const Sharding sharding =
      choose_shards(description.network, {.shards = device.num_shards,
                                          .batch = request.batch,
                                          .fields = request.fields,
                                          .loss = *description.loss,
                                          .optimizer = description.train_op->optimizer});
  if (request.tell) request.tell(to_text(sharding));
  return shard(description.network, sharding);
}

PipeliningOptions stages_of(const Description& description) {
  if (description.pipelining) return *description.pipelining;
  return {.schedule = PipelineSchedule::sequential};
}

CompileOptions compile_options(const Description& description, const DeviceRunConfig& device) {
  CompileOptions options{.metrics = description.metrics,
                         .precision = device.precision,
                         .loss_scaling = device.loss_scaling,
                         .steps_per_execution = device.iterations_per_loop};
  if (description.train_op) options.optimizer = description.train_op->optimizer;
  if (description.loss) options.loss = *description.loss;
  return options;
}

Model described_model(const Network& network, const DeviceRunConfig& device, int used,
                      uint64_t seed) {
  const ModelOptions options{.name = "estimator", .seed = seed};
  if (device.devices.empty()) return Model(network, options);
  const DeviceStrategy strategy(devices_for(device, used));
  const DeviceStrategy::Scope scope = strategy.scope();
  return Model(network, options);
}

}  // namespace

Model make_model(const Description& description, const RunModelRequest& request) {
  const DeviceRunConfig& device = request.config->device;
  if (request.mode == RunMode::train) check_replicas(description, device);
  const Network network = network_for(description, request);
  const PipeliningOptions stages = stages_of(description);
  const runtime::Placement place{.device_of_stage = stages.device_mapping};
  const int used = network.stages() > 1 ? place.devices_per_replica(network.stages()) : 1;
  if (request.mode == RunMode::train && used < device.num_shards && request.tell) {
    request.tell(concat("num_shards is ", device.num_shards, ", but the network uses only ", used,
                        used == 1 ? " device" : " devices",
                        "; use PipelineStage scopes or autosharding to divide it"));
  }
  Model model = described_model(network, device, used, request.config->random_seed);
  if (network.stages() > 1) model.set_pipelining_options(stages);
  model.compile(compile_options(description, device));
  return model;
}

void assign_weights(Model& model, const store::WeightsFile& file) {
  std::map<std::string, const Tensor*> known;
  for (const store::LayerWeights& layer : file.layers) {
    for (const store::NamedWeight& weight : layer.weights) {
      known[layer.layer + "/" + weight.name] = &weight.value;
    }
  }
  std::vector<Tensor> weights;
  for (const std::string& name : model.weight_names()) {
    const auto found = known.find(name);
    if (found == known.end()) {
      throw InvalidArgument(file.path, " has no weight '", name,
                            "' of the network; was it saved with another model function?");
    }
    check_shape(name, *found->second, model.get_weight(name), file.path);
    weights.push_back(*found->second);
  }
  model.set_weights(weights);
}

void check_shape(const std::string& name, const Tensor& saved, const Tensor& own,
                 const std::string& path) {
  if (saved.shape() == own.shape()) return;
  throw InvalidArgument(path, ": weight '", name, "': expected shape ", own.shape(),
                        " of the network, got ", saved.shape(),
                        "; was it saved with another model function?");
}

void share_weights(Model& model) {
  if (!dist::is_distributed()) return;
  std::vector<Tensor> weights = model.get_weights();
  for (Tensor& weight : weights) dist::broadcast(weight);
  model.set_weights(weights);
}

}  // namespace pando::estimator
