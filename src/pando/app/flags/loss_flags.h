// The flags of `pando train` about the loss.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/nn/losses.h"
#include "pando/optim/loss_scaling.h"
#include "pando/options/options.h"
#include "pando/tensor/precision.h"

namespace pando::app {

// The keys of --auto-loss-scaling-params. Missing keys have the defaults of AutoLossScaling.
struct AutoLossScalingParams {
  std::optional<double> initial_loss_scaling_factor;
  std::optional<int64_t> update_frequency;
  std::optional<double> increase_factor;
  std::optional<double> max_loss_scaling_factor;
  std::optional<bool> accumulate_statistics_over_update_period;
  std::optional<double> ratio_threshold;
  std::optional<double> lpf_alpha;
  std::optional<double> histogram_bin_edge;
  std::optional<bool> captured_grads_only;

  AutoLossScaling options() const;
  bool given() const;
};

struct LossFlags {
  std::optional<double> label_smoothing;
  double loss_scaling = 0;  // 0: none
  bool auto_loss_scaling = false;
  AutoLossScalingParams auto_loss_scaling_params;

  // The loss scaling for this number of replicas on all instances. The factor is multiplied by it,
  // because gradients are divided by it before the update. Automatic scaling takes precedence.
  LossScaling scaling(int64_t replicas) const;
  // "loss scaling 128 x 4 replicas = 512"; empty without loss scaling.
  std::string describe_scaling(int64_t replicas) const;
};

void add_loss_flags(OptionTable& table, LossFlags& flags);

// Checks combinations of values; throws UsageError that names the flag.
void validate(const LossFlags& flags);

// Gives every parameter of automatic loss scaling that is not given its default.
void fill_in(LossFlags& flags);

// Warnings about flags that have no effect, or no benefit at this precision.
std::vector<std::string> warnings_of(const LossFlags& flags, const Precision& precision);

// The warning that half precision is slower than f32 on a processor with these instruction sets;
// empty if it is not.
std::string slow_half(const Precision& precision, const std::vector<std::string>& instructions);

// The loss with this Keras name, with label smoothing if requested. With `mixed`, the labels of
// training are shares of classes and those of validation class numbers. Throws UsageError for label
// smoothing of a loss without classes.
Loss make_loss(const LossFlags& flags, const std::string& name, bool mixed = false);

}  // namespace pando::app
