// The flags of `pando train` about its loss.
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

// The keys of --auto-loss-scaling-params. What is not given has the default of AutoLossScaling.
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

  // With so many replicas on all instances, which the factor is multiplied with: gradients are
  // divided by their number on the way to the update. The automatic one wins.
  LossScaling scaling(int64_t replicas) const;
  // "loss scaling 128 x 4 replicas = 512"; empty: there is none.
  std::string describe_scaling(int64_t replicas) const;
};

void add_loss_flags(OptionTable& table, LossFlags& flags);

// What no single flag can check: throws UsageError that names the flag.
void validate(const LossFlags& flags);

// Of flags without effect, or without use at this precision.
std::vector<std::string> warnings_of(const LossFlags& flags, const Precision& precision);

// The loss of that name (Keras'), with smoothed labels if they are asked for. Throws UsageError
// when it has no classes.
Loss make_loss(const LossFlags& flags, const std::string& name);

}  // namespace pando::app
