// The flags of `pando train` that say how weights are updated, given a learning rate.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "pando/optim/optimizer.h"
#include "pando/options/options.h"

namespace pando::app {

enum class OptimizerKind { sgd, lars, adam, adamw, rmsprop, adadelta };

// The keys of --optimizer-params. What is not given has the default of Keras, except the momentum
// of sgd, which is 0.9; lars and the second form of rmsprop want all of theirs.
struct OptimizerParams {
  std::optional<double> momentum;             // sgd, lars, rmsprop
  std::optional<bool> nesterov;               // sgd, lars
  std::optional<double> beta_1;               // adam, adamw
  std::optional<double> beta_2;               // adam, adamw
  std::optional<double> rho;                  // rmsprop, adadelta
  std::optional<double> base_decay_exponent;  // rmsprop: rho = 1 - 2^exponent * global batch
  std::optional<double> eeta;                 // lars
  std::optional<double> epsilon;              // all but sgd
  std::optional<double> weight_decay;         // lars, adamw
};

struct OptimizerFlags {
  OptimizerKind kind = OptimizerKind::sgd;
  OptimizerParams params;
  double weight_decay = 0;
  double l2_regularization = 0;
};

void add_optimizer_flags(OptionTable& table, OptimizerFlags& flags);

// What no single flag can check: throws UsageError that names the flags.
void validate(const OptimizerFlags& flags, int64_t global_batch_size);

// The rate when no flag gives one: for sgd and lars 1.5625e-4 times the global batch size (0.01 at
// 64), for the others 0.001 as in Keras.
double default_rate(const OptimizerFlags& flags, int64_t global_batch_size);

// Requires: validated flags.
Optimizer make_optimizer(const OptimizerFlags& flags, LearningRate rate, int64_t global_batch_size);

}  // namespace pando::app
