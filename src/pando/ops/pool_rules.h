// Attributes and checks that the pooling ops share.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/ops/window.h"

namespace pando::ops {

// The attributes window, strides (if empty, equal to the window), padding, pads and ceil_mode. With
// ceil_mode 1 the last window may reach beyond the padded input, but not begin behind the input;
// what it covers there is padding.
std::vector<AttributeSpec> pool_attributes();

// The attributes of a gradient: those of the op itself and `input`, the spatial extents of x.
std::vector<AttributeSpec> pool_grad_attributes();

// The largest number of positions in a window of max pooling, which stores a position as u8.
constexpr int64_t kMaxIndexPositions = 256;

// Throws InvalidArgument unless a position in the window fits into the u8 index of max pooling.
void check_index_fits(const ir::Node& node, const Windows& windows);

// Checks that input 0 of a pooling op is f32 and resolves the windows; in a gradient, input 0 is
// dy.
Windows check_pool(const ir::Node& node);
Windows check_pool_grad(const ir::Node& node);

}  // namespace pando::ops
