// The records of all optimizers: name, options and how to make one. optimizers.cc has the only list
// of them; flags, help and make_optimizer() are derived from it.
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
  bool required = false;                        // `pando train` has no default for it
  std::optional<double> program_fallback = {};  // the default of `pando train`, if it differs
};

struct OptimizerSettings {
  LearningRate learning_rate = 0.0;
  std::map<std::string, double> values;  // for all options of the form
  int64_t global_batch_size = 0;         // 0: unknown

  double operator[](const std::string& option) const { return values.at(option); }
};

// One set of options that describes an optimizer.
struct OptimizerForm {
  std::string key = {};  // the option that selects this form; empty: the default form
  std::vector<OptimizerOption> options;
  std::function<Optimizer(const OptimizerSettings&)> make;  // throws InvalidArgument
  std::string note = {};                                    // for the help of --optimizer-params
};

struct OptimizerRecord {
  std::string name;
  double learning_rate = 0.001;  // the default of Keras
  // The default of `pando train` is learning_rate * global batch size / 64.
  bool rate_follows_batch = false;
  // If set, the optimizer decays the weights itself; this is the optimizer that does not.
  std::string without_decay = {};
  std::vector<OptimizerForm> forms;  // the default form first
};

// The only list of optimizers.
const std::vector<OptimizerRecord>& optimizers();

// Throws InvalidArgument with the known names.
const OptimizerRecord& optimizer_record(std::string_view name);

// One function per optimizer, defined in the optimizer's own file.
OptimizerRecord adadelta_optimizer();
OptimizerRecord adagrad_optimizer();
OptimizerRecord adam_optimizer();
OptimizerRecord adamw_optimizer();
OptimizerRecord lars_optimizer();
OptimizerRecord rmsprop_optimizer();
OptimizerRecord sgd_optimizer();

}  // namespace pando::optim
