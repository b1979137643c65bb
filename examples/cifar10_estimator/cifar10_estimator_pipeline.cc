// The program cifar10_estimator as a pipeline: the network in two stages, each on its own device,
// which work on different batches at the same time.
// SPDX-License-Identifier: MIT
#include "training.h"

using namespace pando;
using namespace cifar10;

namespace {

struct PipelineOptions {
  TrainingOptions training;
  int devices = 2;
  int accumulation = 8;    // batches per weight update
  int shard_position = 7;  // layers in the first stage
};
constexpr int kLayers = 18;

PipelineEstimatorSpec model_fn(const PipelineOptions& options) {
  const std::vector<Layer> layers = network_layers(true);
  const auto cut = layers.begin() + options.shard_position;
  const auto stage = [](std::vector<Layer> part) {
    return [part](const SymbolicTensor& x) { return apply_layers(part, x); };
  };
  return {.computational_stages = {stage({layers.begin(), cut}), stage({cut, layers.end()})},
          .gradient_accumulation_count = options.accumulation,
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .train_op = SGD({.learning_rate = kLearningRate}),
          .eval_metric_ops = {"accuracy"},
          .reduction = GradientReduction::sum};
}

int run(const PipelineOptions& options) {
  const Options& common = options.training.common;
  say("Loading the data...");
  const TrainTest data = load_data(common);

  say("Initialize the model");
  const Steps steps = count_steps(data, common.batch_size, options.accumulation);
  describe(network_layers(true), steps);
  RunConfig config = run_config(steps);
  config.device.num_shards = options.devices;
  config.device.devices = {{.devices = options.devices}};
  PipelineEstimator estimator([&](const PipelineModelInput&) { return model_fn(options); },
                              {.model_dir = common.model_dir, .config = config});
  return train_and_check(estimator, data, options.training, steps);
}

void add_flags(OptionTable& table, PipelineOptions& options) {
  add_training_flags(table, options.training);
  table.add("gradient-accumulation-count", options.accumulation, "batches per weight update")
      .with_hint("N")
      .at_least(1);
  table
      .add("model-shard-position", options.shard_position,
           "how many of the 18 layers are in the first stage")
      .with_alias("model_shard_position")
      .with_hint("N")
      .at_least(1)
      .at_most(kLayers - 1);
  table.add("devices", options.devices, "devices, one for each of the two stages")
      .with_alias("ipus")
      .with_hint("N")
      .at_least(2);
}

}  // namespace

int main(int argc, char** argv) {
  PipelineOptions options;
  return run_program(
      {.about = "Trains a small network on CIFAR-10 with an estimator, in two pipeline stages.",
       .add_flags = [&](OptionTable& table) { add_flags(table, options); },
       .run = [&] { return run(options); }},
      argc, argv);
}
