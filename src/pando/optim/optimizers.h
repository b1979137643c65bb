// The records of all optimizers: what each is called, which options it takes and how it is made.
// optimizers.cc is the only list of them; flags, help and make_optimizer() follow it.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/parameter_range.h"
#include "pando/optim/optimizer.h"

namespace pando::optim {

struct OptimizerOption {
  std::string name;  // a key of --optimizer-params
  double fallback = 0;
  ParameterRange range = ParameterRange::any;
  bool required = false;                        // by the program, which then has no default
  std::optional<double> program_fallback = {};  // the program's default where it is another
};

struct OptimizerSettings {
  LearningRate learning_rate = 0.0;
  std::map<std::string, double> values;  // of all options of the form
  int64_t global_batch_size = 0;         // 0: unknown

  double operator[](const std::string& option) const { return values.at(option); }
};

// One way to give an optimizer's options.
struct OptimizerForm {
  std::string key = {};  // giving this option chooses the form; empty: the usual one
  std::vector<OptimizerOption> options;
  std::function<Optimizer(const OptimizerSettings&)> make;  // throws InvalidArgument
  std::string note = {};                                    // for the help of --optimizer-params
};

struct OptimizerRecord {
  std::string name;
  double learning_rate = 0.001;      // the default, of Keras
  bool rate_follows_batch = false;   // the program's default is that at 64 samples of a batch
  std::string without_decay = {};    // set: it decays the weights itself, and this one does not
  std::vector<OptimizerForm> forms;  // the usual one first
};

// The only list of optimizers.
const std::vector<OptimizerRecord>& optimizers();

// Throws InvalidArgument with the known names.
const OptimizerRecord& optimizer_record(std::string_view name);

// One function per optimizer, defined in its file.
OptimizerRecord adadelta_optimizer();
OptimizerRecord adam_optimizer();
OptimizerRecord adamw_optimizer();
OptimizerRecord lars_optimizer();
OptimizerRecord rmsprop_optimizer();
OptimizerRecord sgd_optimizer();

}  // namespace pando::optim
