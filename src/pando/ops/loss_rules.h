// What the losses check alike: one number per sample, times an optional weight per sample.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

// Checks input `index`, if it is there, to be f32[batch].
void check_sample_weight(const ir::Node& node, int index, int64_t batch);

// The gradient rule of a loss over (prediction, target, weight?): emits `op` over the gradient of
// the loss and the same inputs, with the same attributes, for the prediction alone.
GradRule gradient_of_prediction(std::string op);

// Checks labels at input `index`: i32[batch] or f32[batch, classes], for predictions before it.
void check_labels(const ir::Node& node, int index);

}  // namespace pando::ops
