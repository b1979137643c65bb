// Step 5: the model in two stages, each on a device; micro-batches follow each other through them.
// SPDX-License-Identifier: MIT
#include <iostream>

#include "tutorial.h"

using namespace pando;
using namespace tutorial;

// The network of the tutorial, with its layers in two stages.
std::pair<SymbolicTensor, SymbolicTensor> pipelined_model_fn() {
  auto input = Input({28, 28, 1});
  auto x = input;
  {
    PipelineStage stage(0);
    x = Conv2D({.filters = 32, .kernel = {3, 3}, .activation = "relu"})(x);
    x = MaxPooling2D({.pool = {2, 2}})(x);
    x = Conv2D({.filters = 64, .kernel = {3, 3}, .activation = "relu"})(x);
  }
  {
    PipelineStage stage(1);
    x = MaxPooling2D({.pool = {2, 2}})(x);
    x = Flatten()(x);
    x = Dropout({.rate = 0.5})(x);
    x = Dense({.units = 10, .activation = "softmax"})(x);
  }
  return {input, x};
}

int main(int argc, char** argv) try {
  const Options options = read_options(argc, argv);
  std::cout << "Keras MNIST example, running on device with pipelining\n";
  const TrainTest data = prepare_data(options);

  const DeviceStrategy strategy({.devices = 2});
  const auto scope = strategy.scope();  // models made from here on run on its devices

  constexpr int kAccumulation = 8;  // micro-batches of a replica per weight update
  auto [input, output] = pipelined_model_fn();
  Model model(input, output);
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = kAccumulation,
                                .schedule = PipelineSchedule::grouped,
                                .reduction = GradientReduction::sum});
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
  // The original evaluates only whole accumulations.
  const int64_t whole = make_divisible(data.test.size(), step * kAccumulation);
  const Dataset test = options.drop_remainder ? data.test.take(whole) : data.test;
  model.evaluate(test, {.batch_size = kBatchSize,
                        .steps_per_execution = batches(test.size(), step),
                        .drop_remainder = options.drop_remainder,
                        .verbose = 1});

  std::cout << "Program ran successfully\n";
} catch (const std::exception& error) {
  return report(argv[0], error);
}
