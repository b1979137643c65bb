// The checks and the gradient rule that losses share. A loss is one number per sample, multiplied
// by the sample's weight if there are weights.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

// If the node has an input `index`, checks that it is f32[batch].
void check_sample_weight(const ir::Node& node, int index, int64_t batch);

// The gradient rule of a loss over (prediction, target, weight?): emits `op` over the gradient of
// the loss and the same inputs, with the same attributes, for the prediction alone.
GradRule gradient_of_prediction(std::string op);

// Checks that input `index` holds labels, which fit the predictions f32[batch, ..., classes] in the
// input before it: i32[batch, ...] or f32 of the same shape. The axes between are pixels.
void check_labels(const ir::Node& node, int index);

// The attributes of categorical and of binary cross-entropy: from_logits, label_smoothing and those
// of the focal loss, gamma and alpha.
std::vector<AttributeSpec> cross_entropy_attributes();
void check_cross_entropy_attributes(const ir::Node& node);

}  // namespace pando::ops
