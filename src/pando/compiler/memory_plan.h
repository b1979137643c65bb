// Where every value of a program lies: a region and an offset in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <unordered_map>

#include "pando/ir/graph.h"

namespace pando::compiler {

// Memory of a program. `activations` exists once per slice with Division::batch and once in all
// with Division::parts; `sums` (what each slice or part adds to a sum) always once per slice;
// `packed` (variables in a kernel's own layout) once. Variables and state are not part of it:
// all programs of a model share them.
enum class Region { activations, sums, packed, external };

struct Place {
  Region region = Region::external;
  size_t offset = 0;
};

struct MemoryPlan {
  std::unordered_map<const ir::Value*, Place> places;
  size_t activation_bytes = 0;  // of one slice
  size_t sum_bytes = 0;         // of one slice
  size_t packed_bytes = 0;
  size_t unshared_bytes = 0;  // activations and sums of one slice if no two values shared memory
};

}  // namespace pando::compiler
