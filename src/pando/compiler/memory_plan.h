// The place of every value of a program: a region and an offset in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "pando/ir/graph.h"

namespace pando::compiler {

// Memory of a program. Blocks of activations exist once per slice with Division::batch and once in
// all with Division::parts; sums (the contributions of each slice or part to a sum) always exist
// once per slice. `activations` and `sums` live within one section and are free after it.
// `held_activations` and `held_sums` are written by one section and read by a later one of the same
// micro-batch: there is one block for every micro-batch that a stage holds at once. `gradients` and
// `moments` are accumulated over the micro-batches of a weight update. `packed` (variables in a
// kernel's own layout) exists once. Variables and state are external: all programs of a model share
// them.
enum class Region {
  activations,
  sums,
  held_activations,
  held_sums,
  gradients,
  moments,
  packed,
  external
};

struct Place {
  Region region = Region::external;
  int stage = 0;  // the stage that owns it; ignored for packed and external values
  size_t offset = 0;
  int64_t tiles = 1;  // the number of tiles of samples that use the place one after the other

  // The size of the place of a value.
  size_t bytes_of(const ir::Value& value) const {
    return value.bytes() / static_cast<size_t>(tiles);
  }
};

// Bytes of one block of each region, for one stage.
struct StageMemory {
  size_t activations = 0;
  size_t sums = 0;
  size_t held_activations = 0;
  size_t held_sums = 0;
  size_t gradients = 0;
  size_t moments = 0;

  size_t& of(Region region);
  size_t total() const {
    return activations + sums + held_activations + held_sums + gradients + moments;
  }
};

// Gradients that backward completes together: a contiguous part of the gradient region of one
// stage.
struct Bucket {
  int stage = 0;
  size_t begin = 0;  // bytes
  size_t end = 0;
  const ir::Node* last = nullptr;  // the node that completes it
};

struct MemoryPlan {
  std::unordered_map<const ir::Value*, Place> places;
  std::vector<StageMemory> stages;
  std::vector<Bucket> buckets;  // in the order in which backward completes them
  size_t packed_bytes = 0;
  size_t unshared_bytes = 0;  // size of all blocks of one slice if no two values shared memory

  // Sum over all stages.
  size_t planned_bytes() const;
};

}  // namespace pando::compiler
