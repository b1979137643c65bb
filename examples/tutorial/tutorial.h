// Code shared by the programs of the tutorial: options, data, the network, and error reports.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <pando/pando.h>

namespace tutorial {

inline constexpr int64_t kBatchSize = 64;

struct Options {
  std::string dataset;  // mnist or fashion_mnist; empty: MNIST if it is here, else Fashion-MNIST
  std::string data;     // the folder with its files; empty: where Pando finds them
  int64_t samples = 0;  // samples for training, and the same number for testing; 0: all
  int64_t epochs = 3;
  bool drop_remainder = false;  // skip the same samples as the original program
};

// A flag of one program: its names and the variable for its value.
struct Flag {
  std::vector<std::string> names;
  std::variant<bool*, int64_t*, std::string*> value;
  std::string hint = "DIR";  // of a text, for --help
};

// Throws InvalidArgument for an unknown flag, a missing value and a number below 1. --help and -h
// print the flags and ends the program.
Options read_options(int argc, char** argv, std::vector<Flag> more = {});

// Images in [0, 1] of [28, 28, 1], labels one-hot. Prints what they are and where they come from.
pando::TrainTest prepare_data(const Options& options);

// Input and output of the network of the tutorial, 34,826 weights.
std::pair<pando::SymbolicTensor, pando::SymbolicTensor> model_fn();

// The number of batches for all samples; the last one may be partial.
int64_t batches(int64_t samples, int64_t batch_size);
// The largest multiple of `divisor` that is not above `number`.
int64_t make_divisible(int64_t number, int64_t divisor);

// Called at the end of main: prints the message; returns 2 for a wrong flag or setting, 1 for
// everything else.
int report(const char* program, const std::exception& error);

}  // namespace tutorial
