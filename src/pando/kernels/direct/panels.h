// Runs the panels of a packed filter over pixels.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/direct/gather_plan.h"

namespace pando::kernels::direct {

// The first `count` pixels of a phase's tables, with offsets relative to `x`, `y` and `residual`.
struct PixelRun {
  const Phase* phase = nullptr;
  int64_t count = 0;
  const float* x = nullptr;
  float* y = nullptr;
  const float* residual = nullptr;  // null: none
  Part columns = {};                // the share of each group's columns to compute
};

void run_panels(const GatherPlan& plan, const IsaKernels& isa, const PixelRun& run,
                const float* packed, const Epilogue& epilogue);

}  // namespace pando::kernels::direct
