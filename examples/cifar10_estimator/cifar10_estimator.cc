// A network for CIFAR-10 trained by an Estimator, on all cores as one device.
// SPDX-License-Identifier: MIT
#include "training.h"

using namespace pando;
using namespace cifar10;

namespace {

EstimatorSpec model_fn(const ModelInput& input) {
  return {.output = apply_layers(network_layers(true), input.features),
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .train_op = SGD({.learning_rate = kLearningRate}),
          .eval_metric_ops = {"accuracy"}};
}

int run(const TrainingOptions& options) {
  say("Loading the data...");
  const TrainTest data = load_data(options.common);

  say("Initialize the model");
  const Steps steps = count_steps(data, options.common.batch_size);
  describe(network_layers(true), steps);
  Estimator estimator(model_fn,
                      {.model_dir = options.common.model_dir, .config = run_config(steps)});
  return train_and_check(estimator, data, options, steps);
}

}  // namespace

int main(int argc, char** argv) {
  TrainingOptions options;
  return run_program({.about = "Trains a small network on CIFAR-10 with an estimator.",
                      .add_flags = [&](OptionTable& table) { add_training_flags(table, options); },
                      .run = [&] { return run(options); }},
                     argc, argv);
}
