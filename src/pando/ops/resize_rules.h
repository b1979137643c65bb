// Where the elements of a resized tensor come from, axis by axis; resize and its gradient share it.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/ops/op.h"

namespace pando::ops {

// One element of a resized axis: (1 - weight) * x[first] + weight * x[second].
struct ResizeSource {
  int64_t first = 0;
  int64_t second = 0;
  double weight = 0;
};

// The sources of every element of one spatial axis of the result.
struct ResizeAxis {
  int64_t input = 0;
  std::vector<ResizeSource> sources;
};

// The spatial axes of a resize or resize_grad node. Throws InvalidArgument that names the node.
// Requires: inputs of the right rank.
std::vector<ResizeAxis> resize_axes(const ir::Node& node);

}  // namespace pando::ops
