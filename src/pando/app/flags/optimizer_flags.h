// The flags of `pando train` that choose how weights are updated, given a learning rate.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "pando/optim/optimizer.h"
#include "pando/options/options.h"
#include "pando/options/parameter_fields.h"

namespace pando::app {

struct OptimizerFlags {
  std::string name = "sgd";
  ParameterFields params;  // the options of all optimizers (optim/optimizers.h)
  double weight_decay = 0;
  double l2_regularization = 0;
  double ema_decay = 0;  // of the moving average of the weights; 0: none
};

void add_optimizer_flags(OptionTable& table, OptimizerFlags& flags);

// Checks combinations of flags; throws UsageError that names the flags.
void validate(const OptimizerFlags& flags, int64_t global_batch_size);

// Gives every parameter of the optimizer that is not given its default.
void fill_in(OptimizerFlags& flags);

// The learning rate if no flag gives one: the default of Keras, for some optimizers (sgd, lars)
// multiplied by global batch size / 64.
double default_rate(const OptimizerFlags& flags, int64_t global_batch_size);

// Requires: validated flags.
Optimizer make_optimizer(const OptimizerFlags& flags, LearningRate rate, int64_t global_batch_size);

}  // namespace pando::app
