// How a node is cut into tiles: by samples, or, where pixels do not depend on each other, by
// pixels. Operands that belong to no sample go whole to every tile. The op's record says which.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/ir/graph.h"

namespace pando::kernels::half {

enum class Unit { sample, pixel };

// What a tile has of an operand. sum: each tile has its contribution to all elements; moments: the
// same of moments.
enum class Share { rows, whole, sum, moments };

struct Cut {
  Unit unit = Unit::sample;
  std::vector<Share> inputs;
  std::vector<Share> outputs;
  std::vector<bool> kept;   // inputs that the kernel takes in 16 bits
  int64_t units = 0;        // of the node
  int64_t unit_pixels = 1;  // pixels of a sample where units are pixels
};

// With `native`, what is multiplied is kept in 16 bits.
Cut cut_of(const ir::Node& node, bool native = false);

// The node in f32, but for what is kept, with so many units, in a graph of its own.
class Twin {
 public:
  Twin(const ir::Node& node, const Cut& cut, int64_t units);
  const ir::Node& node() const { return *node_; }

 private:
  ir::Graph graph_;
  ir::Node* node_ = nullptr;
};

}  // namespace pando::kernels::half
