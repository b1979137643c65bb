// Step 4: two replicas of the model, each on its own device.
// SPDX-License-Identifier: MIT
#include <iostream>

#include "tutorial.h"

using namespace pando;
using namespace tutorial;

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  std::cout << "Keras MNIST example, running on device with replication\n";
  const TrainTest data = prepare_data(options);

  const DeviceStrategy strategy({.devices = 2});
  const auto scope = strategy.scope();  // models made from here on run on its devices

  auto [input, output] = model_fn();
  Model model(input, output);
  // Like the original, sum the gradients of the replicas instead of averaging them.
  model.set_gradient_accumulation_options({.reduction = GradientReduction::sum});
  const int64_t step = kBatchSize * model.replicas();  // samples of all replicas per step
  model.compile({.optimizer = SGD({.learning_rate = 0.01}),
                 .loss = "categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = batches(data.train.size(), step)});
  std::cout << model.summary();

  std::cout << "\nTraining\n";
  model.fit(data.train, {.epochs = options.epochs,
                         .batch_size = kBatchSize,
                         .drop_remainder = options.drop_remainder});

  std::cout << "\nEvaluation\n";
  model.evaluate(data.test, {.batch_size = kBatchSize,
                             .steps_per_execution = batches(data.test.size(), step),
                             .drop_remainder = options.drop_remainder,
                             .verbose = 1});

  std::cout << "Program ran successfully\n";
} catch (const std::exception& error) {
  return report(argv[0], error);
}
