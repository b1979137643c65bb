// Depthwise convolutions, and those with groups of a few channels, as sums over taps, planned once
// per kernel: for each axis, which places of the source each place of the result reads.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>

#include "pando/kernels/conv_geometry.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels::fast {

// The result at place first + j * step reads the source at start + j * source_step, for each tap.
// All places of a result belong to one phase, or, in the input gradient of a strided convolution,
// to one of `stride` phases, which meet different taps.
struct DepthwisePhase {
  static constexpr int64_t kMostTaps = 16;
  struct Tap {
    int64_t tap = 0;  // of the filter
    int64_t start = 0;
  };

  int64_t first = 0;
  int64_t count = 0;
  int64_t taps = 0;
  std::array<Tap, kMostTaps> tap = {};
};

struct DepthwiseAxis {
  static constexpr int64_t kMostPhases = 8;

  int64_t source = 1;  // extents
  int64_t result = 1;
  int64_t step = 1;
  int64_t source_step = 1;
  std::array<DepthwisePhase, kMostPhases> phases = {};  // `step` of them are in use

  const DepthwisePhase& phase_of(int64_t place) const {
    return phases[static_cast<size_t>(place % step)];
  }
  // The place in the source; may be outside of it.
  int64_t source_place(const DepthwisePhase::Tap& tap, int64_t place) const {
    return tap.start + place / step * source_step;
  }
  bool has(int64_t source_place) const { return source_place >= 0 && source_place < source; }
  // The j below count for which start + j * source_step is in the source.
  Range inside(int64_t start, int64_t count) const;
  // The j of a phase for which all taps are in the source.
  Range inner(const DepthwisePhase& phase) const;
};

// Taps of a filter over all axes that the kernels can handle.
inline constexpr int64_t kMostDepthwiseTaps = 128;

struct DepthwisePlan {
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t per_group = 1;  // channels of a group, both of the source and of the result
  std::array<int64_t, 3> filter = {1, 1, 1};
  std::array<DepthwiseAxis, 3> axes;  // depth, height, width

  int64_t result_rows() const { return batch * axes[0].result * axes[1].result; }
  int64_t taps() const { return filter[0] * filter[1] * filter[2]; }
  int64_t tap_floats() const { return per_group * channels; }  // numbers of the filter per tap
};

// Why the kernels cannot compute this convolution; empty if they can.
std::string why_not_depthwise(const ConvGeometry& geometry);

// "depthwise", or "grouped:4" with groups of four channels.
std::string kernel_name(const ConvGeometry& geometry);

// Requires: why_not_depthwise() is empty.
DepthwisePlan forward_plan(const ConvGeometry& geometry);
DepthwisePlan input_grad_plan(const ConvGeometry& geometry);

}  // namespace pando::kernels::fast
