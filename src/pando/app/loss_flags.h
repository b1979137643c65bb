// The flags of `pando train` about its loss.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/app/options.h"
#include "pando/nn/losses.h"

namespace pando::app {

struct LossFlags {
  std::optional<double> label_smoothing;
  double loss_scaling = 0;  // 0: none
  bool auto_loss_scaling = false;
};

void add_loss_flags(OptionTable& table, LossFlags& flags);

// Throws UsageError for what is not there yet.
void validate(const LossFlags& flags);

// Of flags without effect.
std::vector<std::string> warnings_of(const LossFlags& flags);

// The loss of that name (Keras'), with smoothed labels if they are asked for. Throws UsageError
// when it has no classes.
Loss make_loss(const LossFlags& flags, const std::string& name);

}  // namespace pando::app
