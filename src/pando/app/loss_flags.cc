// SPDX-License-Identifier: MIT
#include "pando/app/loss_flags.h"

#include "pando/app/exit_code.h"
#include "pando/base/error.h"

namespace pando::app {

void add_loss_flags(OptionTable& table, LossFlags& flags) {
  table.begin_group("Loss");
  table
      .add("label-smoothing", flags.label_smoothing,
           "this share of a label is spread evenly over all classes")
      .with_hint("X")
      .at_least(0)
      .at_most(1);
  table
      .add("loss-scaling", flags.loss_scaling,
           "multiplies the loss while gradients are computed, for half precision; 0: off. Without "
           "effect in 32.32")
      .with_hint("X")
      .at_least(0);
  table.add("auto-loss-scaling", flags.auto_loss_scaling,
            "choose the loss scaling while training; not there yet");
}

void validate(const LossFlags& flags) {
  if (flags.auto_loss_scaling) {
    throw UsageError(
        "--auto-loss-scaling is not there yet: it is for half precision, and all is computed in "
        "32.32, which needs no loss scaling; leave it out");
  }
}

std::vector<std::string> warnings_of(const LossFlags& flags) {
  if (flags.loss_scaling == 0) return {};
  return {concat("--loss-scaling ", flags.loss_scaling,
                 " has no effect: gradients of 32.32 need no scaling")};
}

Loss make_loss(const LossFlags& flags, const std::string& name) {
  if (flags.label_smoothing.value_or(0) == 0) return name;
  if (name != "sparse_categorical_crossentropy") {
    throw UsageError("--label-smoothing: the model is trained with ", name,
                     ", which has no classes; leave it out");
  }
  return SparseCategoricalCrossentropy({.label_smoothing = *flags.label_smoothing});
}

}  // namespace pando::app
