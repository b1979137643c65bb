// SPDX-License-Identifier: MIT
#include "pando/kernels/conv_node.h"

#include "pando/ops/attribute_values.h"
#include "pando/ops/conv_operands.h"
#include "pando/ops/window.h"

namespace pando::kernels {

namespace {

// One field of the window of every axis; with two spatial axes, `fill` stands for the depth.
ConvGeometry::Extents extents(const ops::Windows& windows, int64_t ops::WindowAxis::*number,
                              int64_t fill) {
  ConvGeometry::Extents result = {fill, fill, fill};
  const size_t first = result.size() - windows.size();
  for (size_t i = 0; i < windows.size(); ++i) result[first + i] = windows[i].*number;
  return result;
}

}  // namespace

ConvGeometry conv_geometry(const ir::Node& node) {
  const ops::Windows windows = ops::conv_windows(node);
  const ops::ConvOperands operands = ops::conv_operands(node);
  using Axis = ops::WindowAxis;
  return {.batch = operands.x->shape()[0],
          .in_channels = operands.x->shape().back(),
          .out_channels = operands.filter->shape().back(),
          .groups = ops::int_attribute(node, "groups"),
          .in = extents(windows, &Axis::input, 1),
          .out = extents(windows, &Axis::output, 1),
          .filter = extents(windows, &Axis::window, 1),
          .stride = extents(windows, &Axis::stride, 1),
          .dilation = extents(windows, &Axis::dilation, 1),
          .pad_low = extents(windows, &Axis::pad_low, 0),
          .pad_high = extents(windows, &Axis::pad_high, 0)};
}

PoolNodeGeometry pool_geometry(const ir::Node& node) {
  const ops::Windows windows = ops::pool_windows(node);
  using Axis = ops::WindowAxis;
  // The gradients of conv_pool have no output with the pooled channels.
  const bool fused = node.op().starts_with("conv_pool");
  const Shape& pooled = (fused ? ops::conv_operands(node).y : node.output())->shape();
  return {.batch = pooled[0],
          .channels = pooled.back(),
          .in = extents(windows, &Axis::input, 1),
          .out = extents(windows, &Axis::output, 1),
          .window = extents(windows, &Axis::window, 1),
          .stride = extents(windows, &Axis::stride, 1),
          .pad_low = extents(windows, &Axis::pad_low, 0),
          .pad_high = extents(windows, &Axis::pad_high, 0)};
}

}  // namespace pando::kernels
