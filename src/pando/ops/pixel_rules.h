// Checks shared by the ops that turn the pixels of an image into the numbers of a network.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

// Throws InvalidArgument unless input 0 is u8 or f32 [batch, height, width, channels].
void require_pixels(const ir::Node& node);

// The type of the numbers: f32 with `channels` channels, an attribute whose value 0 stands for the
// number of channels of the pixels. Additional channels are zeros; fewer channels than the pixels
// have throw InvalidArgument.
ir::TensorType pixel_numbers(const ir::Node& node);

}  // namespace pando::ops
