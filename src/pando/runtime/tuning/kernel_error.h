// The rounding errors of the candidates of a layer.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/ir/graph.h"

namespace pando::runtime {

// For each candidate, the root mean square of the difference from the exact sums, relative to that
// of the sums, for normal numbers. Computed for a part of the layer whose sums are as long, so that
// it takes milliseconds. Negative where it is not known: only convolutions over two axes with one
// group and f32 operands are computed, and only if Winograd's method is among the candidates.
std::vector<double> kernel_errors(const ir::Node& node, const std::vector<std::string>& candidates);

}  // namespace pando::runtime
