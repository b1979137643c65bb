// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/strings.h"
#include "pando/kernels/direct/isa_kernels.h"
#include "pando/kernels/fast/depthwise.h"

namespace pando::kernels::fast {

namespace {

DepthwisePlan empty_plan(const ConvGeometry& g) {
  return {.batch = g.batch,
          .channels = g.in_channels,
          .per_group = g.in_channels / g.groups,
          .filter = g.filter,
          .axes = {}};
}

}  // namespace

Range DepthwiseAxis::inside(int64_t start, int64_t count) const {
  const int64_t first = start < 0 ? (-start + source_step - 1) / source_step : 0;
  // The last j with start + j * source_step < source.
  const int64_t room = source - 1 - start;
  const int64_t begin = std::min(first, count);
  return {begin, std::clamp<int64_t>(room < 0 ? 0 : room / source_step + 1, begin, count)};
}

Range DepthwiseAxis::inner(const DepthwisePhase& phase) const {
  Range range{0, phase.count};
  for (int64_t i = 0; i < phase.taps; ++i) {
    const Range one = inside(phase.tap[static_cast<size_t>(i)].start, phase.count);
    range = {std::max(range.begin, one.begin), std::min(range.end, one.end)};
  }
  return {range.begin, std::max(range.begin, range.end)};
}

std::string why_not_depthwise(const ConvGeometry& g) {
  const int64_t per_group = g.in_channels / g.groups;
  if (g.groups == 1) return "has no groups";
  if (g.in_channels != g.out_channels) return "groups have more channels on one side";
  if (per_group != 1 && per_group != 2 && per_group != 4 && per_group != 8) {
    return concat("groups of ", per_group, " channels are not 1, 2, 4 or 8");
  }
  if (per_group > 1 && per_group >= direct::choose_isa().lanes) {
    return concat("groups of ", per_group, " channels fill the vectors of the direct kernel");
  }
  for (size_t axis = 0; axis < 3; ++axis) {
    if (g.filter[axis] > DepthwisePhase::kMostTaps) {
      return concat("filter extent ", g.filter[axis], " is more than ", DepthwisePhase::kMostTaps);
    }
    if (g.stride[axis] > DepthwiseAxis::kMostPhases) {
      return concat("stride ", g.stride[axis], " is more than ", DepthwiseAxis::kMostPhases);
    }
  }
  if (g.taps() > kMostDepthwiseTaps) {
    return concat("filter of ", g.taps(), " taps has more than ", kMostDepthwiseTaps);
  }
  return "";
}

std::string kernel_name(const ConvGeometry& g) {
  const int64_t per_group = g.in_channels / g.groups;
  return per_group == 1 ? "depthwise" : concat("grouped:", per_group);
}

// y[o] = sum over k of x[o * stride - pad + k * dilation] * filter[k].
DepthwisePlan forward_plan(const ConvGeometry& g) {
  DepthwisePlan plan = empty_plan(g);
  for (size_t a = 0; a < 3; ++a) {
    DepthwiseAxis& axis = plan.axes[a];
    axis.source = g.in[a];
    axis.result = g.out[a];
    axis.source_step = g.stride[a];
    DepthwisePhase& phase = axis.phases[0];
    phase.count = g.out[a];
    for (int64_t k = 0; k < g.filter[a]; ++k) {
      phase.tap[static_cast<size_t>(phase.taps++)] = {k, k * g.dilation[a] - g.pad_low[a]};
    }
  }
  return plan;
}

// dx[i] = sum over k, where i + pad - k * dilation is o * stride, of dy[o] * filter[k].
DepthwisePlan input_grad_plan(const ConvGeometry& g) {
  DepthwisePlan plan = empty_plan(g);
  for (size_t a = 0; a < 3; ++a) {
    DepthwiseAxis& axis = plan.axes[a];
    axis.source = g.out[a];
    axis.result = g.in[a];
    axis.step = g.stride[a];
    for (int64_t first = 0; first < axis.step; ++first) {
      DepthwisePhase& phase = axis.phases[static_cast<size_t>(first)];
      phase.first = first;
      phase.count = first < axis.result ? (axis.result - first - 1) / axis.step + 1 : 0;
      for (int64_t k = 0; k < g.filter[a]; ++k) {
        const int64_t at = first + g.pad_low[a] - k * g.dilation[a];
        if (at % axis.step != 0) continue;
        phase.tap[static_cast<size_t>(phase.taps++)] = {k, at / axis.step};
      }
    }
  }
  return plan;
}

}  // namespace pando::kernels::fast
