// The filter gradient of a depthwise convolution and of one with groups of 2, 4 or 8 channels: for
// each row of dy and a few taps, the sums of a few channels over the pixels of the row are in
// registers. Parts divide the rows of dy; each has sums of its own.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/strings.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/fast/depthwise.h"
#include "pando/kernels/fast/depthwise_windows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/group_spread.h"
#include "pando/kernels/fast/repeated_channels.h"
#include "pando/kernels/fast/vectors.h"

namespace pando::kernels {
namespace {

using fast::DepthwiseAxis;
using fast::DepthwisePlan;
using fast::Floats;
using fast::Range;
using fast::WideFloats;

// A tap that a row of dy meets: where the row of x that it reads begins, and its sums.
struct GradTap {
  const float* x;
  float* dfilter;
};

struct GradRow {
  const float* dy;
  int64_t channels;
  int64_t source_pixel;  // elements of x from one pixel of dy to the next
};

// Adds the products of a pixel with one tap, one sum per channel of a group.
template <typename Values, int... from>
PANDO_INLINE void add_pixel(const float* x, int64_t c, const Values& dy, Values* sums,
                            std::integer_sequence<int, from...>) {
  constexpr int kPerGroup = sizeof...(from);
  const auto add = [&]<int i>(std::integral_constant<int, i>) __attribute__((always_inline)) {
    Values value;
    fast::load_spread<kPerGroup, i>(x, c, value);
    sums[i] += value * dy;
  };
  (add(std::integral_constant<int, from>()), ...);
}

// Adds the products of the pixels with `count` taps, for as many channels from c on as Values
// holds.
template <int per_group, typename Values, int count>
PANDO_INLINE void add_products(const GradRow& row, const GradTap* taps, Range pixels, int64_t c) {
  Values sums[count][per_group];
  const float* x[count];
#pragma GCC unroll 16
  for (int t = 0; t < count; ++t) {
#pragma GCC unroll 16
    for (int i = 0; i < per_group; ++i) {
      fast::load(taps[t].dfilter + i * row.channels + c, sums[t][i]);
    }
    x[t] = taps[t].x + c;
  }
  for (int64_t j = pixels.begin; j < pixels.end; ++j) {
    Values dy;
    fast::load(row.dy + j * row.channels + c, dy);
#pragma GCC unroll 16
    for (int t = 0; t < count; ++t) {
      add_pixel(x[t] + j * row.source_pixel, c, dy, sums[t],
                std::make_integer_sequence<int, per_group>());
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < count; ++t) {
#pragma GCC unroll 16
    for (int i = 0; i < per_group; ++i) {
      fast::store(taps[t].dfilter + i * row.channels + c, sums[t][i]);
    }
  }
}

template <int per_group, int count>
PANDO_INLINE void add_channels(const GradRow& row, const GradTap* taps, Range pixels) {
  int64_t c = 0;
  for (; c + 2 * fast::kLanes <= row.channels; c += 2 * fast::kLanes) {
    add_products<per_group, WideFloats, count>(row, taps, pixels, c);
  }
  for (; c + fast::kLanes <= row.channels; c += fast::kLanes) {
    add_products<per_group, Floats, count>(row, taps, pixels, c);
  }
  for (; c < row.channels; ++c) add_products<per_group, float, count>(row, taps, pixels, c);
}

// Five sums of sixteen numbers are ten registers of AVX2, and enough not to wait for each other.
PANDO_MULTIVERSION void add_taps_1(const GradRow& row, const GradTap* taps, int64_t count,
                                   Range pixels) {
  for (; count >= 5; count -= 5, taps += 5) add_channels<1, 5>(row, taps, pixels);
  switch (count) {
    case 4: return add_channels<1, 4>(row, taps, pixels);
    case 3: return add_channels<1, 3>(row, taps, pixels);
    case 2: return add_channels<1, 2>(row, taps, pixels);
    case 1: return add_channels<1, 1>(row, taps, pixels);
    default: return;
  }
}
PANDO_MULTIVERSION void add_taps_2(const GradRow& row, const GradTap* taps, int64_t count,
                                   Range pixels) {
  for (; count >= 3; count -= 3, taps += 3) add_channels<2, 3>(row, taps, pixels);
  if (count == 2) return add_channels<2, 2>(row, taps, pixels);
  if (count == 1) add_channels<2, 1>(row, taps, pixels);
}
PANDO_MULTIVERSION void add_taps_4(const GradRow& row, const GradTap* taps, int64_t count,
                                   Range pixels) {
  for (; count > 0; --count, ++taps) add_channels<4, 1>(row, taps, pixels);
}
PANDO_MULTIVERSION void add_taps_8(const GradRow& row, const GradTap* taps, int64_t count,
                                   Range pixels) {
  for (; count > 0; --count, ++taps) add_channels<8, 1>(row, taps, pixels);
}

using AddTaps = void (*)(const GradRow&, const GradTap*, int64_t, Range);

AddTaps add_taps_of(int64_t per_group) {
  switch (per_group) {
    case 2: return add_taps_2;
    case 4: return add_taps_4;
    case 8: return add_taps_8;
    default: return add_taps_1;
  }
}

PANDO_MULTIVERSION void add_bias(const float* dy, int64_t pixels, int64_t channels, float* dbias) {
  for (int64_t j = 0; j < pixels; ++j) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) dbias[c] += dy[j * channels + c];
  }
}

// The taps of one row of dy, as if all were inside x along the width.
struct GradTaps {
  std::array<GradTap, fast::kMostDepthwiseTaps> taps;
  std::array<int64_t, fast::kMostDepthwiseTaps> starts;  // along the width
  int64_t count = 0;
};

// `plan` is that of forward: a row of dy is a row of results.
GradTaps taps_of(const DepthwisePlan& plan, int64_t row, const float* x, float* dfilter) {
  const auto& [depth, height, width] = plan.axes;
  const int64_t h = row % height.result;
  const int64_t d = row / height.result % depth.result;
  const int64_t sample = row / height.result / depth.result;
  GradTaps found;
  for (int64_t kd = 0; kd < plan.filter[0]; ++kd) {
    const int64_t source_d = depth.source_place(depth.phases[0].tap[static_cast<size_t>(kd)], d);
    if (!depth.has(source_d)) continue;
    for (int64_t kh = 0; kh < plan.filter[1]; ++kh) {
      const int64_t source_h =
          height.source_place(height.phases[0].tap[static_cast<size_t>(kh)], h);
      if (!height.has(source_h)) continue;
      const int64_t source_row = (sample * depth.source + source_d) * height.source + source_h;
      const int64_t filter_row = kd * plan.filter[1] + kh;
      for (int64_t kw = 0; kw < plan.filter[2]; ++kw) {
        const int64_t start = width.phases[0].tap[static_cast<size_t>(kw)].start;
        const auto at = static_cast<size_t>(found.count++);
        found.taps[at] = {x + (source_row * width.source + start) * plan.channels,
                          dfilter + (filter_row * plan.filter[2] + kw) * plan.tap_floats()};
        found.starts[at] = start;
      }
    }
  }
  return found;
}

struct FilterSums {
  float* dfilter;
  float* dbias;  // null without a bias
};

void add_rows(const DepthwisePlan& plan, const float* x, const float* dy, FilterSums sums,
              Range rows) {
  const DepthwiseAxis& width = plan.axes[2];
  const Range inner = width.inner(width.phases[0]);
  const AddTaps add_taps = add_taps_of(plan.per_group);
  for (int64_t at = rows.begin; at < rows.end; ++at) {
    const GradRow row{.dy = dy + at * width.result * plan.channels,
                      .channels = plan.channels,
                      .source_pixel = width.source_step * plan.channels};
    if (sums.dbias != nullptr) add_bias(row.dy, width.result, plan.channels, sums.dbias);
    const GradTaps found = taps_of(plan, at, x, sums.dfilter);
    if (plan.per_group > 2) {  // one tap at a time, with the pixels that it meets
      for (size_t t = 0; t < static_cast<size_t>(found.count); ++t) {
        add_taps(row, &found.taps[t], 1, width.inside(found.starts[t], width.result));
      }
      continue;
    }
    add_taps(row, found.taps.data(), found.count, inner);
    const auto at_edge = [&](int64_t j) {
      std::array<GradTap, fast::kMostDepthwiseTaps> inside;
      int64_t count = 0;
      for (size_t t = 0; t < static_cast<size_t>(found.count); ++t) {
        if (width.has(found.starts[t] + j * width.source_step)) {
          inside[static_cast<size_t>(count++)] = found.taps[t];
        }
      }
      add_taps(row, inside.data(), count, {j, j + 1});
    };
    for (int64_t j = 0; j < inner.begin; ++j) at_edge(j);
    for (int64_t j = inner.end; j < width.result; ++j) at_edge(j);
  }
}

KernelOffer offer_window_grad(const fast::WindowPlan& plan, bool has_bias) {
  const auto run = [plan, has_bias](const KernelArgs& args, const StepArgs& step) {
    const Range rows = fast::share(step.part, plan.result_rows());
    std::fill_n(args.out(0), plan.window * plan.window * plan.channels, 0.0f);
    fast::add_window_products(plan, {args.in(0), args.in(1), args.out(0)}, rows);
    if (!has_bias) return;
    std::fill_n(args.out(1), plan.channels, 0.0f);
    add_bias(args.in(1) + rows.begin * plan.width * plan.channels, rows.size() * plan.width,
             plan.channels, args.out(1));
  };
  return offer_function(concat("depthwise:", plan.window, "x", plan.window), run, fast::kSplits);
}

}  // namespace

KernelOffer depthwise_conv_filter_grad(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  if (fast::channel_multiplier(geometry) > 1) {
    return fast::offer_repeated_filter_grad(node, depthwise_conv_filter_grad);
  }
  if (std::string why = fast::why_not_depthwise(geometry); !why.empty()) return refuse(why);
  const bool has_bias = node.num_outputs() > 1;
  if (geometry.groups == geometry.in_channels && fast::has_windows(geometry)) {
    return offer_window_grad(fast::WindowPlan(geometry), has_bias);
  }
  const auto run = [plan = fast::forward_plan(geometry), has_bias](const KernelArgs& args,
                                                                   const StepArgs& step) {
    std::fill_n(args.out(0), plan.taps() * plan.tap_floats(), 0.0f);
    if (has_bias) std::fill_n(args.out(1), plan.channels, 0.0f);
    add_rows(plan, args.in(0), args.in(1), {args.out(0), has_bias ? args.out(1) : nullptr},
             fast::share(step.part, plan.result_rows()));
  };
  return offer_function(fast::kernel_name(geometry), run, fast::kSplits);
}

}  // namespace pando::kernels
