// What the programs of the tutorial share: options, data, the network, the report of an error.
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
  std::string data;     // folder with the files of MNIST; empty: Fashion-MNIST
  int64_t samples = 0;  // so many for training and so many for testing; 0: all
  int64_t epochs = 3;
  bool drop_remainder = false;  // leave out what the original program leaves out
};

// A flag of one program: its names and where its value goes.
struct Flag {
  std::vector<std::string> names;
  std::variant<bool*, int64_t*, std::string*> value;
};

// Throws InvalidArgument for an unknown flag, a missing value and a number below 1. --help prints
// the flags and ends the program.
Options read_options(int argc, char** argv, std::vector<Flag> more = {});

// Images in [0, 1] of [28, 28, 1], labels one-hot.
pando::TrainTest prepare_data(const Options& options);

// Input and output of the network of the tutorial, 34,826 weights.
std::pair<pando::SymbolicTensor, pando::SymbolicTensor> model_fn();

// How many batches hold all samples, the last one perhaps in part.
int64_t batches(int64_t samples, int64_t batch_size);
// The largest multiple of `divisor` that is not above `number`.
int64_t make_divisible(int64_t number, int64_t divisor);

// For the end of main: prints the message; 2 for a wrong flag or setting, 1 for all else.
int report(const char* program, const std::exception& error);

}  // namespace tutorial
