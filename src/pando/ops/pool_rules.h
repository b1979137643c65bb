// What the pooling ops check alike.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/window.h"

namespace pando::ops {

// window, strides (empty: as the window), padding and pads.
std::vector<AttributeSpec> pool_attributes();

// The same and the spatial extents of x, for gradients.
std::vector<AttributeSpec> pool_grad_attributes();

// Max pooling stores positions in the window as u8, which tells this many apart.
constexpr int64_t kMaxIndexPositions = 256;

// Throws InvalidArgument unless a position in the window fits into the u8 index of max pooling.
void check_index_fits(const ir::Node& node, const Windows& windows);

// Checks an f32 input 0 of a pooling op and resolves its windows; for a gradient, input 0 is dy.
Windows check_pool(const ir::Node& node);
Windows check_pool_grad(const ir::Node& node);

}  // namespace pando::ops
