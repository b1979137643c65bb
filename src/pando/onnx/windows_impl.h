// The windows of convolutions and pools: their attributes in ONNX.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/ir/attributes.h"
#include "pando/onnx/constant.h"

namespace pando::onnx {

struct WindowAttributes {
  ir::Ints window;
  ir::Ints strides;
  ir::Ints dilations;
  ir::Ints pads;  // before each spatial axis, then after each
};

// `extents` are those of the spatial axes of the operand; `window` replaces the attribute
// kernel_shape where it is not given. Resolves auto_pad. Throws InvalidArgument.
WindowAttributes window_attributes(const NodeProto& node, const std::vector<int64_t>& extents,
                                   const std::vector<int64_t>& window);

}  // namespace pando::onnx
