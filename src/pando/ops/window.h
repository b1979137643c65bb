// The window arithmetic that convolution and pooling share: turns the strides, dilations and
// padding of a node into numbers per spatial axis.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/ops/op.h"

namespace pando::ops {

// One spatial axis. The window at output o covers the inputs
// o * stride - pad_low + t * dilation for t in [0, window); positions outside the input are
// padding.
struct WindowAxis {
  int64_t input = 0;
  int64_t window = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_low = 0;
  int64_t pad_high = 0;
  int64_t output = 0;

  int64_t span() const { return (window - 1) * dilation + 1; }
};

using Windows = std::vector<WindowAxis>;

// The attributes padding ("valid", "same" as in TensorFlow, "explicit") and pads.
std::vector<AttributeSpec> padding_attributes();
// The attributes of a convolution: padding, pads, strides, dilations and groups.
std::vector<AttributeSpec> conv_attributes();

// The windows of conv, conv_input_grad, conv_filter_grad, of the convolution whose input gradient
// conv_transpose computes, and of the convolution in conv_pool and its gradients. Throws
// InvalidArgument that names the node. Requires: inputs of the right rank.
Windows conv_windows(const ir::Node& node);

// The windows of max_pool, avg_pool and their gradients, and of the pooling in conv_pool and its
// gradients. Every window covers at least one element that is not padding. Throws and requires the
// same as conv_windows.
Windows pool_windows(const ir::Node& node);

// Whether the strides equal the windows and no window covers padding.
bool are_tiles(const Windows& windows);

// The number of positions in a window.
int64_t positions(const Windows& windows);

// spatial_extents returns axes 1 to rank - 2 of a channels-last shape; channels_last builds such a
// shape.
ir::Ints spatial_extents(const Shape& shape);
Shape channels_last(int64_t batch, const ir::Ints& spatial, int64_t channels);
ir::Ints input_extents(const Windows& windows);
ir::Ints output_extents(const Windows& windows);

}  // namespace pando::ops
