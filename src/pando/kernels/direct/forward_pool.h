// Convolution, bias, activation and max pooling in one pass. Scratch memory holds a few rows of the
// convolution's result at a time, until they are pooled.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/direct/gather_plan.h"

namespace pando::kernels::direct {

struct PoolPlan {
  // `axes`: the order of the axes of `pool` in `geometry`.
  PoolPlan(const ConvGeometry& geometry, const PoolGeometry& pool, const std::array<int, 3>& axes,
           const IsaKernels& isa);

  Extents window = {1, 1, 1};
  Extents out = {1, 1, 1};   // pooled
  int64_t chunk_rows = 1;    // pooled rows per pass
  GatherPlan conv;           // only the outputs that fall into windows
  int64_t chunk_planes = 1;  // pooled outer rows per pass: more than 1 only if all rows fit
  int64_t rows_floats = 0;   // the convolution's outputs of one pass
};

struct PoolCall {
  const float* x;
  const float* packed;
  Epilogue epilogue;
  DirectConv::PoolOutput pooled;
};

void forward_pool(const PoolPlan& plan, const IsaKernels& isa, const PoolCall& call,
                  std::byte* scratch, Part part);

}  // namespace pando::kernels::direct
