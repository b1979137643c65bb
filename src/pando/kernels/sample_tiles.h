// Kernels that compute some samples of a node. Nodes that follow each other can then pass over a
// few samples while these are in a cache, before they pass over the next ones.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/kernels/kernel.h"

namespace pando::kernels {

// How the samples of a node divide.
struct SampleCut {
  int64_t samples = 0;     // of the node; 0: they cannot be separated
  std::vector<bool> rows;  // for each input, whether it has samples; all tiles read the others
  bool sums = false;       // the outputs are sums over samples; otherwise they have samples
};
// Requires: the node is typed.
SampleCut sample_cut(const ir::Node& node);

// The candidate's kernel for the first `samples` samples, which reads the operands that have no
// samples in the same layouts as the node; null if there is none.
std::shared_ptr<const Kernel> kernel_for_samples(const Candidate& candidate, const ir::Node& node,
                                                 int64_t samples, WinogradTiles most);

// Samples [first, first + samples) of a node. Sums are computed `each` samples at a time and added
// in order, so their bits depend on `each` but not on `first` and `samples`.
struct SampleTile {
  int64_t first = 0;
  int64_t samples = 1;
  int64_t each = 1;  // divides first and samples; only for sums less than samples
};
// Computes a tile with a kernel for `each` samples. Its operands with samples begin at the first
// sample of the tile. A tile of sums adds to what the tiles before it left in the outputs; the
// first one overwrites them.
std::shared_ptr<const Kernel> tile_kernel(const ir::Node& node, const SampleTile& tile,
                                          std::shared_ptr<const Kernel> kernel);

}  // namespace pando::kernels
