// The window arithmetic that convolution and pooling share: strides, dilations and padding of a
// node, resolved into numbers per spatial axis.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/ops/op.h"

namespace pando::ops {

// One spatial axis. The window at output o covers the inputs
// o * stride - pad_low + t * dilation for t in [0, window), of which those outside are padding.
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

// The attributes padding ("valid", "same" as TensorFlow means it, "explicit") and pads.
std::vector<AttributeSpec> padding_attributes();
// strides, dilations, groups and the two above.
std::vector<AttributeSpec> conv_attributes();

// Of conv, conv_input_grad, conv_kernel_grad and the convolution in conv_pool and its gradients.
// Throws InvalidArgument that names the node. Requires: inputs of the right rank.
Windows conv_windows(const ir::Node& node);

// Of max_pool, avg_pool, their gradients and the pooling in conv_pool and its; as above. Every
// window covers at least one element that is not padding.
Windows pool_windows(const ir::Node& node);

// How many positions a window has.
int64_t positions(const Windows& windows);

// Axes 1 to rank - 2 of a channels-last shape, and such a shape put together.
ir::Ints spatial_extents(const Shape& shape);
Shape channels_last(int64_t batch, const ir::Ints& spatial, int64_t channels);
ir::Ints input_extents(const Windows& windows);
ir::Ints output_extents(const Windows& windows);

}  // namespace pando::ops
