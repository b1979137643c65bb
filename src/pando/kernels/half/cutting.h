// How a node is cut into tiles: by samples, or by pixels if pixels do not depend on each other.
// Every tile gets all of the operands that belong to no sample. The op's record says which.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/ir/graph.h"

namespace pando::kernels::half {

enum class Unit { sample, pixel };

// The part of an operand that a tile has. sum: each tile has its contribution to all elements.
// moments: the same for moments.
enum class Share { rows, whole, sum, moments };

struct Cut {
  Unit unit = Unit::sample;
  std::vector<Share> inputs;
  std::vector<Share> outputs;
  std::vector<bool> kept;   // inputs that the kernel reads in 16 bits
  int64_t units = 0;        // of the node
  int64_t unit_pixels = 1;  // pixels of a sample if units are pixels
};

// With `native`, the factors of the products stay in 16 bits.
Cut cut_of(const ir::Node& node, bool native = false);

// A copy of the node with `units` units, in a graph of its own. All operands are f32 except those
// kept in 16 bits.
class Twin {
 public:
  Twin(const ir::Node& node, const Cut& cut, int64_t units);
  const ir::Node& node() const { return *node_; }

 private:
  ir::Graph graph_;
  ir::Node* node_ = nullptr;
};

}  // namespace pando::kernels::half
