// Step 1, the starting point: a model on all cores, with the defaults of Keras.
// SPDX-License-Identifier: MIT
#include <iostream>

#include "tutorial.h"

using namespace pando;
using namespace tutorial;

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  std::cout << "Keras MNIST example, running on CPU\n";
  const TrainTest data = prepare_data(options);

  auto [input, output] = model_fn();
  Model model(input, output);
  model.compile({.optimizer = SGD({.learning_rate = 0.01}),
                 .loss = "categorical_crossentropy",
                 .metrics = {"accuracy"}});
  std::cout << model.summary();

  std::cout << "\nTraining\n";
  model.fit(data.train, {.epochs = options.epochs,
                         .batch_size = kBatchSize,
                         .drop_remainder = options.drop_remainder});

  std::cout << "\nEvaluation\n";
  model.evaluate(
      data.test,
      {.batch_size = kBatchSize, .drop_remainder = options.drop_remainder, .verbose = 1});

  std::cout << "Program ran successfully\n";
} catch (const std::exception& error) {
  return report(argv[0], error);
}
