// The program cifar10_estimator on several devices, with a replica of the network on each: in every
// step each replica processes its own batch, and CrossReplicaOptimizer averages their gradients.
// SPDX-License-Identifier: MIT
#include "training.h"

using namespace pando;
using namespace cifar10;

namespace {

struct ReplicaOptions {
  TrainingOptions training;
  int replicas = 2;  // of this instance
};

EstimatorSpec model_fn(const ModelInput& input) {
  return {.output = apply_layers(network_layers(true), input.features),
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .train_op = CrossReplicaOptimizer(SGD({.learning_rate = kLearningRate})),
          .eval_metric_ops = {"accuracy"}};
}

int run(const ReplicaOptions& options) {
  const Options& common = options.training.common;
  say("Loading the data...");
  const TrainTest data = load_data(common);

  say("Initialize the model");
  note_shared_cores(options.replicas);
  const Steps steps = count_steps(data, common.batch_size);
  describe(network_layers(true), steps);
  RunConfig config = run_config(steps);
  config.device.num_replicas = options.replicas;
  config.device.devices = {{.devices = options.replicas}};
  Estimator estimator(model_fn, {.model_dir = common.model_dir, .config = config});
  return train_and_check(estimator, data, options.training, steps);
}

}  // namespace

int main(int argc, char** argv) {
  ReplicaOptions options;
  return run_program(
      {.about = "Trains a small network on CIFAR-10 with an estimator, on several replicas.",
       .add_flags =
           [&](OptionTable& table) {
             add_training_flags(table, options.training);
             if (dist::is_distributed()) options.replicas = dist::num_local_replicas();
             table.add("replicas", options.replicas, "replicas, each on its own device")
                 .with_alias("devices")
                 .with_alias("ipus")
                 .with_hint("N")
                 .at_least(1);
           },
       .run = [&] { return run(options); }},
      argc, argv);
}
