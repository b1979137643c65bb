// SPDX-License-Identifier: MIT
#include "pando/compiler/memory_plan.h"

#include "pando/base/error.h"

namespace pando::compiler {

size_t& StageMemory::of(Region region) {
  switch (region) {
    case Region::activations: return activations;
    case Region::sums: return sums;
    case Region::held_activations: return held_activations;
    case Region::held_sums: return held_sums;
    case Region::gradients: return gradients;
    case Region::moments: return moments;
    case Region::packed:
    case Region::external: break;
  }
  throw InternalError("packed and external values belong to no stage");
}

size_t MemoryPlan::planned_bytes() const {
  size_t bytes = 0;
  for (const StageMemory& stage : stages) bytes += stage.total();
  return bytes;
}

}  // namespace pando::compiler
