// The filter gradient: filter elements are the rows of the panels, and pixels are the axis that is
// summed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/direct/gather_plan.h"

namespace pando::kernels::direct {

struct FilterGradientPlan {
  FilterGradientPlan(const ConvGeometry& geometry, const IsaKernels& isa);

  GatherPlan conv;
  int64_t chunk_pixels = 1;  // summed in registers at a time
  int64_t panel_floats = 0;  // dy of one chunk and column, if it is copied
  // Channels of x that are packed at a time for all columns; 0: x is read in place.
  int64_t packed_channels = 0;
  int64_t packed_floats() const { return packed_channels * chunk_pixels; }
};

struct FilterGradientCall {
  const float* x;
  const float* dy;
  DirectConv::FilterGradient gradient;
};

void backward_kernel(const FilterGradientPlan& plan, const IsaKernels& isa,
                     const FilterGradientCall& call, std::byte* scratch, Part part);

}  // namespace pando::kernels::direct
