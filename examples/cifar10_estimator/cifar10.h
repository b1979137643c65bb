// What the programs of this folder and of examples/estimator_cnn share: flags, data, the network,
// training that a signal can stop.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pando/options/options.h>
#include <pando/pando.h>

namespace cifar10 {

struct Options {
  int64_t batch_size = 16;  // samples of a micro-batch, on each replica
  std::string data;         // folder with the files of CIFAR-10; empty: found or fetched
  bool download = true;
  int64_t samples = 0;  // so many for training and a fifth of it for testing; 0: all
  std::string model_dir;
};

// A program: the flags that its help shows, and what it does with them. run() gives the exit code.
struct Program {
  std::string about;
  std::function<void(pando::OptionTable&)> add_flags;
  std::function<int()> run;
};

// For main(): reads the command line and runs the program, or prints its help. An error becomes a
// message and the exit codes of `pando train`: 2 for a wrong flag or setting, 1 for all else.
int run_program(const Program& program, int argc, char** argv);

void add_batch_size_flag(pando::OptionTable& table, Options& options);
// --data, --samples, --model-dir and --download.
void add_data_flags(pando::OptionTable& table, Options& options);

// A line on standard output; only the first instance of a job writes it.
void say(std::string_view line);

// A note where this process has fewer cores than replicas, or none.
void note_shared_cores(int replicas);

// Images in [0, 1] of [32, 32, 3], labels as class numbers. Throws UsageError when the files are
// not here and may not be fetched.
pando::TrainTest load_data(const Options& options);
// Images of zeros, all of class 0, as many as CIFAR-10 has.
pando::TrainTest generated_data(const Options& options);

// In another order each time round, without end: what a step takes follows what the one before
// took.
pando::InputFn train_input(const pando::TrainTest& data, int64_t batch_size);
// Every sample once.
pando::InputFn test_input(const pando::TrainTest& data, int64_t batch_size);

// The layers of Keras' example for CIFAR-10, from 3 channels to 10 logits; `third_convolution` adds
// one without an activation before the first pooling.
std::vector<pando::Layer> network_layers(bool third_convolution);
pando::SymbolicTensor apply_layers(std::span<const pando::Layer> layers,
                                   const pando::SymbolicTensor& features);
int64_t parameters(std::span<const pando::Layer> layers);

// Trains up to this global step, from the newest checkpoint on. False when a signal ended training
// before; then it has said how to go on.
bool train(pando::Estimator& estimator, const pando::InputFn& input, int64_t max_steps,
           std::vector<std::shared_ptr<pando::Hook>> hooks = {});

}  // namespace cifar10
