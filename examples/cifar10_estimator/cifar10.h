// Code shared by the programs of this folder and of examples/estimator_cnn: flags, data, the
// network, and training that a signal can stop.
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
  int64_t samples = 0;  // training images; tests on a fifth as many; 0: all
  std::string model_dir;
};

// A program: the flags that its help shows, and what it does with them. run() returns the exit
// code.
struct Program {
  std::string about;
  std::function<void(pando::OptionTable&)> add_flags;
  std::function<int()> run;
};

// Called by main(): reads the command line and runs the program, or prints its help. On an error,
// prints a message and returns the exit code of `pando train`: 2 for a wrong flag or setting, 1 for
// everything else.
int run_program(const Program& program, int argc, char** argv);

void add_batch_size_flag(pando::OptionTable& table, Options& options);
// Adds --data, --samples, --model-dir and --download.
void add_data_flags(pando::OptionTable& table, Options& options);

// Prints a line to standard output; in a job only the first instance prints.
void say(std::string_view line);

// Prints a note if this process has fewer cores than replicas.
void note_shared_cores(int replicas);

// Images in [0, 1] of [32, 32, 3], labels as class numbers. Throws UsageError if the files are
// missing and may not be downloaded.
pando::TrainTest load_data(const Options& options);
// Images of zeros, all of class 0, as many as in CIFAR-10.
pando::TrainTest generated_data(const Options& options);

// Repeats the training set without end, in a new order each time. A step continues where the one
// before it stopped.
pando::InputFn train_input(const pando::TrainTest& data, int64_t batch_size);
// Every sample once.
pando::InputFn test_input(const pando::TrainTest& data, int64_t batch_size);

// The layers of Keras' example for CIFAR-10, from 3 channels to 10 logits. `third_convolution` adds
// a convolution without an activation before the first pooling.
std::vector<pando::Layer> network_layers(bool third_convolution);
pando::SymbolicTensor apply_layers(std::span<const pando::Layer> layers,
                                   const pando::SymbolicTensor& features);
int64_t parameters(std::span<const pando::Layer> layers);

// Trains up to this global step, starting from the newest checkpoint. Returns false if a signal
// stopped training earlier, after printing how to continue.
bool train(pando::Estimator& estimator, const pando::InputFn& input, int64_t max_steps,
           std::vector<std::shared_ptr<pando::Hook>> hooks = {});

}  // namespace cifar10
