// Functions that several layers use.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "pando/base/checked.h"
#include "pando/base/error.h"
#include "pando/nn/layers.h"

namespace pando::nn {

// Applies the activation to x; "" and "linear" return x itself. Requires: check_activation passed.
ir::Value* apply_activation(GraphBuilder& builder, const std::string& activation, ir::Value* x);

// Throws InvalidArgument with the known names unless the activation is "" or known.
void check_activation(const std::string& place, const std::string& activation);
void check_positive(const std::string& place, const std::string& option, int64_t value);
// Throws InvalidArgument unless the value is from 1 to 2^31 - 1: products of two fit.
void check_extent(const std::string& place, const std::string& option, int64_t value);
// Throws InvalidArgument unless x has `axes` axes between batch and channels. `place` is the layer.
void check_spatial_axes(const std::string& place, const Shape& x, size_t axes);

// The attributes of an op that say how a window is padded. "symmetric" adds half of the window,
// rounded down, on both sides, as PyTorch's networks do; "same" adds more after than before where
// the stride does not divide.
inline ir::Attributes padding_attributes(const std::string& padding, const ir::Ints& window,
                                         const ir::Ints& dilation) {
  if (padding != "symmetric") return {{"padding", padding}};
  ir::Ints pads(2 * window.size());
  for (size_t i = 0; i < pads.size(); ++i) {
    const size_t axis = i % window.size();
    pads[i] = checked_product("padding", {dilation[axis], window[axis] - 1}) / 2;
  }
  return {{"padding", std::string("explicit")}, {"pads", pads}};
}

template <typename Definition, typename Options>
Layer make_layer(Options options) {
  std::string name = options.name;
  return Layer(std::make_shared<Definition>(std::move(options)), std::move(name));
}

template <typename Array>
ir::Ints ints(const Array& values) {
  return ir::Ints(values.begin(), values.end());
}

}  // namespace pando::nn
