// SPDX-License-Identifier: MIT
#include "cifar10.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <pando/app/flags/find_dataset.h>
#include <pando/app/job/exit_code.h>
#include <pando/app/job/stop_signal.h>
#include <pando/app/run/training_data.h>
#include <pando/comm/session.h>
#include <pando/datasets/all_datasets.h>
#include <pando/datasets/find_files.h>
#include <pando/options/command_line.h>
#include <pando/runtime/machine/topology.h>

namespace cifar10 {

using namespace pando;

namespace {

constexpr int64_t kTrainImages = 50000;  // of CIFAR-10
constexpr int64_t kTestImages = 10000;
constexpr int64_t kTrainPerTest = kTrainImages / kTestImages;
constexpr int64_t kClasses = 10;
const Shape kImage = {32, 32, 3};

TrainTest limit(TrainTest data, int64_t samples) {
  if (samples == 0) return data;
  data.train = data.train.take(samples);
  data.test = data.test.take(std::max<int64_t>(1, samples / kTrainPerTest));
  return data;
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is then an error of its writer
  try {
    dist::init();
    CommonOptions common;
    OptionTable table;
    table.begin_group("Flags");
    program.add_flags(table);
    add_help_option(table, common);
    const std::vector<std::string> args(argv + 1, argv + argc);
    parse_command_line(table, common, args);
    if (!common.help) {
      const int code = program.run();
      comm::process_session().end(code, comm::Ending::together);
      return code;
    }
    say(concat("usage: ", name, " [flags]\n\n", program.about, "\n\n", help_text(table)));
    return app::kDone;
  } catch (const std::exception& error) {
    std::cerr << name << ": error: " << app::describe(error, false) << "\n";
    return app::exit_code_of(error);
  }
}

void add_batch_size_flag(OptionTable& table, Options& options) {
  table.add("batch-size", options.batch_size, "images per step on each replica")
      .with_hint("N")
      .at_least(1);
}

void add_data_flags(OptionTable& table, Options& options) {
  table
      .add("data", options.data,
           "the folder with the files of CIFAR-10; by default, the folder that `pando data fetch "
           "cifar10` uses")
      .with_alias("dataset-path")
      .with_hint("DIR");
  table.add("download", options.download,
            "download CIFAR-10 if it is missing; --no-download forbids that");
  table
      .add("samples", options.samples,
           "train on the first N images and test on the first N / 5; 0: all")
      .with_hint("N")
      .at_least(0);
  table
      .add("model-dir", options.model_dir,
           "folder for checkpoints and summaries; training continues from the newest checkpoint in "
           "it. By default, a temporary folder")
      .with_hint("DIR");
}

void say(std::string_view line) {
  if (dist::instance_index() == 0) std::cout << line << std::endl;
}

void note_shared_cores(int replicas) {
  const int cores = runtime::query_topology().usable_cores();
  if (replicas <= cores) return;
  say(fmt::format("note: {} replicas share {} core{}", replicas, cores, cores == 1 ? "" : "s"));
}

TrainTest load_data(const Options& options) {
  app::DataRequest request;
  request.flags.dataset = "cifar10";
  request.flags.dataset_path = options.data;
  if (!options.download && !app::find_dataset(request.flags)) {
    throw UsageError("CIFAR-10 is not in ", join(search_places(dataset_record("cifar10")), ", "),
                     ", and --no-download forbids downloading it; run 'pando data fetch cifar10', "
                     "or name the folder with its files with --data");
  }
  request.out = &std::cout;
  if (dist::local_instance_index() == 0) app::fetch_training_data(request);
  dist::barrier();
  return limit(load_cifar10(app::find_dataset(request.flags).value()), options.samples);
}

TrainTest generated_data(const Options& options) {
  const auto zeros = [](int64_t images) {
    return Dataset::generate(images, {{"x", DType::f32, kImage}, {"y", DType::i32, {}}},
                             [](const SampleView&) {});
  };
  return limit({.train = zeros(kTrainImages), .test = zeros(kTestImages), .classes = kClasses},
               options.samples);
}

InputFn train_input(const TrainTest& data, int64_t batch_size) {
  return [train = data.train, batch_size](const InputContext&) {
    return InputData(train.shuffle().repeat(), batch_size);
  };
}

InputFn test_input(const TrainTest& data, int64_t batch_size) {
  return
      [test = data.test, batch_size](const InputContext&) { return InputData(test, batch_size); };
}

std::vector<Layer> network_layers(bool third_convolution) {
  const auto convolution = [](int64_t filters, const char* padding) {
    return Conv2D({.filters = filters, .kernel = {3, 3}, .padding = padding});
  };
  std::vector<Layer> layers = {convolution(32, "same"), ReLU(), convolution(32, "valid"), ReLU()};
  if (third_convolution) layers.push_back(convolution(32, "valid"));
  const std::vector<Layer> rest = {MaxPooling2D(),
                                   Dropout({.rate = 0.25}),
                                   convolution(64, "same"),
                                   ReLU(),
                                   convolution(64, "valid"),
                                   ReLU(),
                                   MaxPooling2D(),
                                   Dropout({.rate = 0.25}),
                                   Flatten(),
                                   Dense({.units = 512}),
                                   ReLU(),
                                   Dropout({.rate = 0.5}),
                                   Dense({.units = kClasses})};
  layers.insert(layers.end(), rest.begin(), rest.end());
  return layers;
}

SymbolicTensor apply_layers(std::span<const Layer> layers, const SymbolicTensor& features) {
  SymbolicTensor x = features;
  for (const Layer& layer : layers) x = layer(x);
  return x;
}

int64_t parameters(std::span<const Layer> layers) {
  const SymbolicTensor input = Input(kImage);
  return Network(input, apply_layers(layers, input)).parameters();
}

bool train(Estimator& estimator, const InputFn& input, int64_t max_steps,
           std::vector<std::shared_ptr<Hook>> hooks) {
  const app::StopSignal signal;
  estimator.train(input,
                  {.max_steps = max_steps, .hooks = std::move(hooks), .stop = &signal.wanted()});
  // All instances of a job stop together, and none before the first instance has written its
  // checkpoint.
  std::array<int64_t, 1> stopped = {signal.received() == 0 ? 0 : 1};
  dist::all_reduce(stopped);
  if (stopped[0] == 0) return true;
  signal.expect_repetition();  // it may reach this instance later than the others
  say(
      fmt::format("Stopped after step {} of {}; run the same command with --model-dir {} to "
                  "continue",
                  estimator.global_step(), max_steps, estimator.model_dir()));
  return false;
}

}  // namespace cifar10
