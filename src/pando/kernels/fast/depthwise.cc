// Depthwise convolution, convolution with groups of 2, 4 or 8 channels, and their input gradients:
// sixteen channels of several pixels at a time, with the sums in registers. With groups, a tap is
// one product per channel of the group, whose source is spread over the lanes of the group. Parts
// divide the rows of the result.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise.h"

#include "pando/base/strings.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/fast/activation_loops.h"
#include "pando/kernels/fast/depthwise_windows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/group_spread.h"
#include "pando/kernels/fast/repeated_channels.h"
#include "pando/kernels/fast/vector_activation.h"
#include "pando/kernels/fast/vectors.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels {
namespace {

using fast::DepthwiseAxis;
using fast::DepthwisePhase;
using fast::DepthwisePlan;
using fast::Floats;
using fast::Range;
using fast::WideFloats;

// A tap of a row: where its source and its numbers of the filter begin, at channel 0.
struct RowTap {
  const float* x;
  const float* filter;
};

// What a row of results is computed from. A pixel of the result is `pixel` elements after the one
// before; the source of each tap advances by `source_pixel`.
struct RowJob {
  const RowTap* taps;
  int64_t count;
  int64_t channels;
  int64_t pixel;
  int64_t source_pixel;
  const float* bias;  // may be null
  NodeActivation activation;
};

// Adds the products of one tap with channel `from` of every group.
template <int per_group, int from, typename Values, int pixels, int vectors>
PANDO_INLINE void add_tap(const RowJob& job, const RowTap& tap, int64_t offset, int64_t c,
                          Values (&sums)[pixels][vectors]) {
  constexpr int64_t kWidth = fast::kWidthOf<Values>;
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    Values filter;
    fast::load(tap.filter + from * job.channels + c + v * kWidth, filter);
#pragma GCC unroll 16
    for (int p = 0; p < pixels; ++p) {
      Values value;
      fast::load_spread<per_group, from>(tap.x + offset + p * job.source_pixel + v * kWidth, c,
                                         value);
      sums[p][v] += value * filter;
    }
  }
}

template <int per_group, typename Values, int pixels, int vectors, int... from>
PANDO_INLINE void add_group_tap(const RowJob& job, const RowTap& tap, int64_t offset, int64_t c,
                                Values (&sums)[pixels][vectors],
                                std::integer_sequence<int, from...>) {
  (add_tap<per_group, from>(job, tap, offset, c, sums), ...);
}

// `pixels` pixels, with as many channels from channel c on as `vectors` times Values holds.
template <int per_group, typename Values, int pixels, int vectors = 1>
PANDO_INLINE void sum_block(const RowJob& job, int64_t j, int64_t c, float* y) {
  constexpr int64_t kWidth = fast::kWidthOf<Values>;
  Values sums[pixels][vectors] = {};
  const int64_t offset = j * job.source_pixel + c;
  for (int64_t t = 0; t < job.count; ++t) {
    add_group_tap<per_group>(job, job.taps[t], offset, c, sums,
                             std::make_integer_sequence<int, per_group>());
  }
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    Values bias{};
    if (job.bias != nullptr) fast::load(job.bias + c + v * kWidth, bias);
#pragma GCC unroll 16
    for (int p = 0; p < pixels; ++p) {
      sums[p][v] += bias;
      fast::activate_vector(job.activation, sums[p][v]);
      fast::store(y + (j + p) * job.pixel + c + v * kWidth, sums[p][v]);
    }
  }
}

template <int per_group, int pixels>
PANDO_INLINE void sum_pixels(const RowJob& job, int64_t j, float* y) {
  constexpr int64_t kWideLoad = 2 * fast::kLanes;
  int64_t c = 0;
  if constexpr (pixels == 1) {  // several sums at a time, because one would wait for itself
    for (; c + 4 * kWideLoad <= job.channels; c += 4 * kWideLoad) {
      sum_block<per_group, WideFloats, 1, 4>(job, j, c, y);
    }
  }
  for (; c + kWideLoad <= job.channels; c += kWideLoad) {
    sum_block<per_group, WideFloats, pixels>(job, j, c, y);
  }
  for (; c + fast::kLanes <= job.channels; c += fast::kLanes) {
    sum_block<per_group, Floats, pixels>(job, j, c, y);
  }
  for (; c < job.channels; ++c) sum_block<per_group, float, pixels>(job, j, c, y);
}

// The pixels j of `range`, at which all taps of the job are inside the source.
template <int per_group>
PANDO_INLINE void sum_range(const RowJob& job, Range range, float* y) {
  int64_t j = range.begin;
  for (; j + 6 <= range.end; j += 6) sum_pixels<per_group, 6>(job, j, y);
  if (j + 4 <= range.end) {
    sum_pixels<per_group, 4>(job, j, y);
    j += 4;
  }
  for (; j < range.end; ++j) sum_pixels<per_group, 1>(job, j, y);
}

PANDO_MULTIVERSION void sum_row_1(const RowJob& job, Range range, float* y) {
  sum_range<1>(job, range, y);
}
PANDO_MULTIVERSION void sum_row_2(const RowJob& job, Range range, float* y) {
  sum_range<2>(job, range, y);
}
PANDO_MULTIVERSION void sum_row_4(const RowJob& job, Range range, float* y) {
  sum_range<4>(job, range, y);
}
PANDO_MULTIVERSION void sum_row_8(const RowJob& job, Range range, float* y) {
  sum_range<8>(job, range, y);
}

using SumRow = void (*)(const RowJob&, Range, float*);

SumRow sum_row_of(int64_t per_group) {
  switch (per_group) {
    case 2: return sum_row_2;
    case 4: return sum_row_4;
    case 8: return sum_row_8;
    default: return sum_row_1;
  }
}

// The taps of a row of results over depth and height, for the first tap along the width.
struct RowSources {
  std::array<RowTap, fast::kMostDepthwiseTaps> taps;
  int64_t count = 0;
};

RowSources row_sources(const DepthwisePlan& plan, int64_t row, const float* x,
                       const float* filter) {
  const auto& [depth, height, width] = plan.axes;
  const int64_t h = row % height.result;
  const int64_t d = row / height.result % depth.result;
  const int64_t sample = row / height.result / depth.result;
  RowSources sources;
  const DepthwisePhase& deep = depth.phase_of(d);
  const DepthwisePhase& high = height.phase_of(h);
  for (int64_t i = 0; i < deep.taps; ++i) {
    const auto& deep_tap = deep.tap[static_cast<size_t>(i)];
    const int64_t source_d = depth.source_place(deep_tap, d);
    if (!depth.has(source_d)) continue;
    for (int64_t k = 0; k < high.taps; ++k) {
      const auto& high_tap = high.tap[static_cast<size_t>(k)];
      const int64_t source_h = height.source_place(high_tap, h);
      if (!height.has(source_h)) continue;
      const int64_t source_row = (sample * depth.source + source_d) * height.source + source_h;
      const int64_t filter_row = deep_tap.tap * plan.filter[1] + high_tap.tap;
      sources.taps[static_cast<size_t>(sources.count++)] = {
          x + source_row * width.source * plan.channels,
          filter + filter_row * plan.filter[2] * plan.tap_floats()};
    }
  }
  return sources;
}

// Adds the taps along the width to those of the row; with `at`, only those inside the source there.
int64_t width_taps(const DepthwisePlan& plan, const RowSources& rows, const DepthwisePhase& phase,
                   const int64_t* at, RowTap* taps) {
  const DepthwiseAxis& width = plan.axes[2];
  int64_t count = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    const RowTap& row = rows.taps[static_cast<size_t>(r)];
    for (int64_t i = 0; i < phase.taps; ++i) {
      const auto& tap = phase.tap[static_cast<size_t>(i)];
      if (at != nullptr && !width.has(tap.start + *at * width.source_step)) continue;
      taps[count++] = {row.x + tap.start * plan.channels, row.filter + tap.tap * plan.tap_floats()};
    }
  }
  return count;
}

struct RowEnds {
  const float* bias;
  NodeActivation activation;
};

void sum_rows(const DepthwisePlan& plan, const float* x, const float* filter, RowEnds ends,
              float* y, Range rows) {
  const DepthwiseAxis& width = plan.axes[2];
  const SumRow sum_row = sum_row_of(plan.per_group);
  std::array<RowTap, fast::kMostDepthwiseTaps> taps;
  RowJob job{.taps = taps.data(),
             .count = 0,
             .channels = plan.channels,
             .pixel = width.step * plan.channels,
             .source_pixel = width.source_step * plan.channels,
             .bias = ends.bias,
             .activation = {}};
  const bool in_block = fast::in_registers(ends.activation.kind);
  if (in_block) job.activation = ends.activation;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const RowSources sources = row_sources(plan, row, x, filter);
    for (int64_t p = 0; p < width.step; ++p) {
      const DepthwisePhase& phase = width.phases[static_cast<size_t>(p)];
      float* to = y + (row * width.result + phase.first) * plan.channels;
      const Range inner = width.inner(phase);
      const auto at_edge = [&](int64_t j) {
        job.count = width_taps(plan, sources, phase, &j, taps.data());
        sum_row(job, {j, j + 1}, to);
      };
      for (int64_t j = 0; j < inner.begin; ++j) at_edge(j);
      job.count = width_taps(plan, sources, phase, nullptr, taps.data());
      sum_row(job, inner, to);
      for (int64_t j = inner.end; j < phase.count; ++j) at_edge(j);
    }
    if (in_block) continue;
    const int64_t length = width.result * plan.channels;
    fast::activate(ends.activation, y + row * length, length);
  }
}

// Exchanges the channels of source and result within each group.
void transpose_groups(const DepthwisePlan& plan, const float* filter, float* packed, Part part) {
  for (int64_t tap = part.begin(plan.taps()); tap < part.end(plan.taps()); ++tap) {
    const float* from = filter + tap * plan.tap_floats();
    float* to = packed + tap * plan.tap_floats();
    for (int64_t c = 0; c < plan.channels; ++c) {
      const int64_t group = c / plan.per_group * plan.per_group;
      for (int64_t i = 0; i < plan.per_group; ++i) {
        to[i * plan.channels + c] = from[(c - group) * plan.channels + group + i];
      }
    }
  }
}

Packing transposed_filter(const DepthwisePlan& plan) {
  const auto pack = [plan](const KernelArgs& args, const StepArgs& step) {
    transpose_groups(plan, args.in(0), args.out(), step.part);
  };
  return {
      .input = 1,
      .layout = {concat("transposed-groups-of-", plan.per_group), plan.taps() * plan.tap_floats()},
      .packer = std::make_shared<FunctionKernel>("grouped:pack", pack, fast::kSplits)};
}

KernelOffer offer_windows(const ir::Node& node, const fast::WindowPlan& plan) {
  const auto run = [plan, activation = node_activation(node)](const KernelArgs& args,
                                                              const StepArgs& step) {
    const float* bias = args.num_inputs > 2 ? args.in(2) : nullptr;
    fast::sum_windows(plan, {args.in(0), args.in(1), args.out()}, {bias, activation},
                      fast::share(step.part, plan.result_rows()));
  };
  return offer_function(concat("depthwise:", plan.window, "x", plan.window), run, fast::kSplits);
}

}  // namespace

KernelOffer depthwise_conv(const ir::Node& node) {
  if (node.num_inputs() > 3) return refuse("adds no residual");
  const ConvGeometry geometry = conv_geometry(node);
  if (fast::channel_multiplier(geometry) > 1) {
    return fast::offer_repeated_conv(node, depthwise_conv);
  }
  if (std::string why = fast::why_not_depthwise(geometry); !why.empty()) return refuse(why);
  if (geometry.groups == geometry.in_channels && fast::has_windows(geometry)) {
    return offer_windows(node, fast::WindowPlan(geometry));
  }
  const auto run = [plan = fast::forward_plan(geometry), activation = node_activation(node)](
                       const KernelArgs& args, const StepArgs& step) {
    const float* bias = args.num_inputs > 2 ? args.in(2) : nullptr;
    sum_rows(plan, args.in(0), args.in(1), {bias, activation}, args.out(),
             fast::share(step.part, plan.result_rows()));
  };
  return offer_function(fast::kernel_name(geometry), run, fast::kSplits);
}

KernelOffer depthwise_conv_input_grad(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  if (fast::channel_multiplier(geometry) > 1) {
    return fast::offer_repeated_input_grad(node, depthwise_conv_input_grad);
  }
  if (std::string why = fast::why_not_depthwise(geometry); !why.empty()) return refuse(why);
  if (geometry.groups == geometry.in_channels && fast::has_windows(geometry)) {
    return offer_windows(node, fast::WindowPlan::of_input_grad(geometry));
  }
  const DepthwisePlan plan = fast::input_grad_plan(geometry);
  const auto run = [plan, activation = node_activation(node)](const KernelArgs& args,
                                                              const StepArgs& step) {
    const float* bias = args.num_inputs > 2 ? args.in(2) : nullptr;
    sum_rows(plan, args.in(0), args.in(1), {bias, activation}, args.out(),
             fast::share(step.part, plan.result_rows()));
  };
  KernelOffer offer = offer_function(fast::kernel_name(geometry), run, fast::kSplits);
  if (plan.per_group > 1) offer.packings.push_back(transposed_filter(plan));
  return offer;
}

}  // namespace pando::kernels
