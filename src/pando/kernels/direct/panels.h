// Packing kernels into panels and running panels over the pixels of a block.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/direct/gather_plan.h"
#include "pando/kernels/part.h"

namespace pando::kernels::direct {

// Which axis of the canonical kernel [taps, in / groups, out] is the panels' row.
enum class PackOrder { forward, transposed };

void pack_panels(const GatherPlan& plan, PackOrder order, const float* kernel, float* packed,
                 Part part);

// Some pixels of one phase of a block and where their results go.
struct PixelRun {
  const Phase* phase = nullptr;
  int64_t first = 0;  // in the phase's tables
  int64_t count = 0;
  const float* window = nullptr;
  float* y = nullptr;
};

void run_panels(const GatherPlan& plan, const IsaKernels& isa, const PixelRun& run,
                const float* packed, const Epilogue& epilogue);

}  // namespace pando::kernels::direct
