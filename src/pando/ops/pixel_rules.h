// What the ops share that turn the pixels of an image into the numbers of a network.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/op.h"

namespace pando::ops {

// Throws InvalidArgument unless input 0 is u8 or f32 [batch, height, width, channels].
void require_pixels(const ir::Node& node);

// The type of the numbers: f32, with as many channels as the attribute `channels` says, 0 for as
// many as the pixels have; those that the pixels lack are zeros. Throws InvalidArgument for fewer.
ir::TensorType pixel_numbers(const ir::Node& node);

}  // namespace pando::ops
