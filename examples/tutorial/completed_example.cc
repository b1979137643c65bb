// All steps of the tutorial in one program: flags choose how the same model runs.
// SPDX-License-Identifier: MIT
#include <iostream>

#include "tutorial.h"

using namespace pando;
using namespace tutorial;

namespace {

struct Settings {
  Options common;
  bool use_devices = false;
  bool pipelining = false;
  int64_t accumulation = 0;  // micro-batches of a replica per weight update; 0: not given
  int64_t batch_size = 80;
};

constexpr int64_t kDevices = 2;
constexpr int64_t kPipelineAccumulation = 8;

Settings read_settings(int argc, char** argv) {
  Settings settings;
  settings.common =
      read_options(argc, argv,
                   {{{"--use-devices", "--use-ipu"}, &settings.use_devices},
                    {{"--pipelining"}, &settings.pipelining},
                    {{"--gradient-accumulation-count", "--gradient-accumulation-steps-per-replica"},
                     &settings.accumulation},
                    {{"--batch-size"}, &settings.batch_size}});
  if (!settings.use_devices && (settings.pipelining || settings.accumulation > 0)) {
    std::cout << "Note: --pipelining and --gradient-accumulation-count have an effect only with "
                 "--use-devices\n";
  }
  return settings;
}

void print_title(const Settings& settings) {
  std::cout << "Keras MNIST example, running on " << (settings.use_devices ? "device" : "CPU");
  if (settings.use_devices) {
    std::cout << (settings.pipelining ? " with pipelining" : " with replication");
  }
  std::cout << "\n";
}

// Called within the scope of the strategy: puts two stages on the devices, or a replica on each.
void place(Model& model, const Settings& settings) {
  const int64_t least = settings.pipelining ? kPipelineAccumulation : 1;
  const auto count = static_cast<int>(settings.accumulation > 0 ? settings.accumulation : least);
  if (!settings.pipelining) {
    model.set_gradient_accumulation_options({count, GradientReduction::sum});
    return;
  }
  model.set_pipeline_splits({"max_pooling2d_1"});
  model.set_pipelining_options(
      {.gradient_accumulation_steps_per_replica = count, .reduction = GradientReduction::sum});
}

}  // namespace

int main(int argc, char** argv) try {
  const Settings settings = read_settings(argc, argv);
  const int64_t batch_size = settings.batch_size;
  const bool drop = settings.common.drop_remainder;
  print_title(settings);
  const TrainTest data = prepare_data(settings.common);

  const DeviceStrategy strategy({.devices = settings.use_devices ? int{kDevices} : 1});
  const auto scope = strategy.scope();
  auto [input, output] = model_fn();
  Model model(input, output);
  if (settings.use_devices) place(model, settings);
  model.compile({.optimizer = SGD({.learning_rate = 0.01}),
                 .loss = "categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = batches(data.train.size(), batch_size * model.replicas())});
  std::cout << model.summary();

  std::cout << "\nTraining\n";
  model.fit(data.train,
            {.epochs = settings.common.epochs, .batch_size = batch_size, .drop_remainder = drop});

  std::cout << "\nEvaluation\n";
  // On devices the original evaluates a number of batches that is a multiple of the devices.
  const int64_t unit = batch_size * (settings.use_devices ? kDevices : 1);
  const Dataset test = drop ? data.test.take(make_divisible(data.test.size(), unit)) : data.test;
  model.evaluate(test, {.batch_size = batch_size,
                        .steps_per_execution = batches(test.size(), batch_size),
                        .verbose = 1});

  std::cout << "Program ran successfully\n";
} catch (const std::exception& error) {
  return report(argv[0], error);
}
