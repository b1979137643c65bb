// Packs a canonical filter into the panels that the inner loops read.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/direct/gather_plan.h"
#include "pando/kernels/part.h"

namespace pando::kernels::direct {

// Panels are [column][row k][lanes]. `forward` takes the rows of the canonical filter [taps, in /
// groups, out] as they are; `transposed` exchanges its input and output channels.
enum class PackOrder { forward, transposed };

struct PackCall {
  PackOrder order;
  const float* filter;
  float* packed;
};

void pack_panels(const GatherPlan& plan, const IsaKernels& isa, const PackCall& call, Part part);

}  // namespace pando::kernels::direct
