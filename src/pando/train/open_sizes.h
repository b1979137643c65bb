// Extents of inputs that a model file leaves open: one model then predicts samples of several
// sizes, with the same weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "pando/nn/network.h"

namespace pando {

struct OpenSizes {
  // For each input of the network and each axis of a sample: whether other extents fit too.
  std::vector<std::vector<bool>> axes = {};
  // The network for samples of these shapes, one for each input, with the weights of the model.
  // Throws InvalidArgument or Unsupported for extents that do not fit.
  std::function<Network(const std::vector<Shape>& inputs)> network = nullptr;

  bool is_open(size_t input, int axis) const {
    return input < axes.size() && static_cast<size_t>(axis) < axes[input].size() &&
           axes[input][static_cast<size_t>(axis)];
  }
};

}  // namespace pando
