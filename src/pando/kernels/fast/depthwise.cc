// Depthwise convolution and its input gradient: sixteen channels of several pixels at a time, with
// the sums in registers. Parts divide the rows of the result.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise.h"

#include "pando/kernels/conv_node.h"
#include "pando/kernels/fast/fast.h"
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

template <typename Values>
PANDO_INLINE void activate(const NodeActivation& activation, Values& v) {
  if (activation.kind == Activation::none) return;
  const Values below = activation.kind == Activation::relu ? Values{} : v * activation.alpha;
  v = v < 0 ? below : v;  // NaN is kept
}

// `pixels` pixels, with as many channels from channel c on as `vectors` times Values holds.
template <typename Values, int pixels, int vectors = 1>
PANDO_INLINE void sum_block(const RowJob& job, int64_t j, int64_t c, float* y) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(Values) / sizeof(float));
  Values sums[pixels][vectors] = {};
  const int64_t offset = j * job.source_pixel + c;
  for (int64_t t = 0; t < job.count; ++t) {
    const float* x = job.taps[t].x + offset;
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      Values filter;
      fast::load(job.taps[t].filter + c + v * kWidth, filter);
#pragma GCC unroll 16
      for (int p = 0; p < pixels; ++p) {
        Values value;
        fast::load(x + p * job.source_pixel + v * kWidth, value);
        sums[p][v] += value * filter;
      }
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < vectors; ++v) {
    Values bias{};
    if (job.bias != nullptr) fast::load(job.bias + c + v * kWidth, bias);
#pragma GCC unroll 16
    for (int p = 0; p < pixels; ++p) {
      sums[p][v] += bias;
      activate(job.activation, sums[p][v]);
      fast::store(y + (j + p) * job.pixel + c + v * kWidth, sums[p][v]);
    }
  }
}

template <int pixels>
PANDO_INLINE void sum_pixels(const RowJob& job, int64_t j, float* y) {
  constexpr int64_t kWide = 2 * fast::kLanes;
  int64_t c = 0;
  if constexpr (pixels == 1) {  // several sums at a time, because one would wait for itself
    for (; c + 4 * kWide <= job.channels; c += 4 * kWide) sum_block<WideFloats, 1, 4>(job, j, c, y);
  }
  for (; c + kWide <= job.channels; c += kWide) sum_block<WideFloats, pixels>(job, j, c, y);
  for (; c + fast::kLanes <= job.channels; c += fast::kLanes) {
    sum_block<Floats, pixels>(job, j, c, y);
  }
  for (; c < job.channels; ++c) sum_block<float, pixels>(job, j, c, y);
}

// The pixels j of `range`, at which all taps of the job are inside the source.
PANDO_MULTIVERSION void sum_row(const RowJob& job, Range range, float* y) {
  int64_t j = range.begin;
  for (; j + 6 <= range.end; j += 6) sum_pixels<6>(job, j, y);
  if (j + 4 <= range.end) {
    sum_pixels<4>(job, j, y);
    j += 4;
  }
  for (; j < range.end; ++j) sum_pixels<1>(job, j, y);
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
          filter + filter_row * plan.filter[2] * plan.channels};
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
      taps[count++] = {row.x + tap.start * plan.channels, row.filter + tap.tap * plan.channels};
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
  std::array<RowTap, fast::kMostDepthwiseTaps> taps;
  RowJob job{.taps = taps.data(),
             .count = 0,
             .channels = plan.channels,
             .pixel = width.step * plan.channels,
             .source_pixel = width.source_step * plan.channels,
             .bias = ends.bias,
             .activation = ends.activation};
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
  }
}

}  // namespace

KernelOffer depthwise_conv(const ir::Node& node) {
  if (node.num_inputs() > 3) return refuse("adds no residual");
  const ConvGeometry geometry = conv_geometry(node);
  if (std::string why = fast::why_not_depthwise(geometry); !why.empty()) return refuse(why);
  const auto run = [plan = fast::forward_plan(geometry), activation = node_activation(node)](
                       const KernelArgs& args, const StepArgs& step) {
    const float* bias = args.num_inputs > 2 ? args.in(2) : nullptr;
    sum_rows(plan, args.in(0), args.in(1), {bias, activation}, args.out(),
             fast::share(step.part, plan.result_rows()));
  };
  return offer_function("depthwise", run, fast::kSplits);
}

KernelOffer depthwise_conv_input_grad(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  if (std::string why = fast::why_not_depthwise(geometry); !why.empty()) return refuse(why);
  const auto run = [plan = fast::input_grad_plan(geometry), activation = node_activation(node)](
                       const KernelArgs& args, const StepArgs& step) {
    const float* bias = args.num_inputs > 2 ? args.in(2) : nullptr;
    sum_rows(plan, args.in(0), args.in(1), {bias, activation}, args.out(),
             fast::share(step.part, plan.result_rows()));
  };
  return offer_function("depthwise", run, fast::kSplits);
}

}  // namespace pando::kernels
