// Resizing and its gradient: each place of an axis of the result is a weighted sum of places of the
// source. A row of the result is a weighted sum of rows of the source, in scratch memory unless it
// is one row as it is, and then of the pixels of that row. Parts divide the rows of the result.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/ops/resize_rules.h"

namespace pando::kernels {
namespace {

using fast::Range;

struct PlaceTap {
  int64_t at = 0;
  float weight = 0;
};

// The taps of place i of the result are taps[begin[i]] to taps[begin[i + 1] - 1].
struct AxisMap {
  int64_t source = 1;
  int64_t result = 1;
  std::vector<int64_t> begin = {0, 1};
  std::vector<PlaceTap> taps = {{0, 1.0f}};

  Range of(int64_t place) const {
    return {begin[static_cast<size_t>(place)], begin[static_cast<size_t>(place) + 1]};
  }
  const PlaceTap& tap(int64_t i) const { return taps[static_cast<size_t>(i)]; }
};

AxisMap axis_map(int64_t source, const std::vector<std::vector<PlaceTap>>& places) {
  AxisMap map{
      .source = source, .result = static_cast<int64_t>(places.size()), .begin = {0}, .taps = {}};
  for (const auto& taps : places) {
    map.taps.insert(map.taps.end(), taps.begin(), taps.end());
    map.begin.push_back(static_cast<int64_t>(map.taps.size()));
  }
  return map;
}

AxisMap resize_map(const ops::ResizeAxis& axis, bool gradient) {
  const auto outputs = static_cast<int64_t>(axis.sources.size());
  std::vector<std::vector<PlaceTap>> places(static_cast<size_t>(gradient ? axis.input : outputs));
  const auto add = [&](int64_t output, int64_t input, double weight) {
    const int64_t place = gradient ? input : output;
    places[static_cast<size_t>(place)].push_back(
        {gradient ? output : input, static_cast<float>(weight)});
  };
  for (int64_t o = 0; o < outputs; ++o) {
    const ops::ResizeSource& from = axis.sources[static_cast<size_t>(o)];
    const bool single = from.first == from.second || from.weight == 0;
    add(o, from.first, single ? 1 : 1 - from.weight);
    if (!single) add(o, from.second, from.weight);
  }
  return axis_map(gradient ? outputs : axis.input, places);
}

struct ResizePlan {
  ResizePlan(const ir::Node& node, bool gradient)
      : batch(node.output()->shape()[0]), channels(node.output()->shape().back()) {
    const auto axes = ops::resize_axes(node);
    const size_t first = maps.size() - axes.size();
    for (size_t i = 0; i < axes.size(); ++i) maps[first + i] = resize_map(axes[i], gradient);
  }
  int64_t rows() const { return batch * maps[0].result * maps[1].result; }
  int64_t source_row() const { return maps[2].source * channels; }
  int64_t result_row() const { return maps[2].result * channels; }

  int64_t batch;
  int64_t channels;
  std::array<AxisMap, 3> maps;  // depth, height, width
};

// A few rows or pixels and their weights.
struct Sources {
  static constexpr int kMost = 4;

  const float* from[kMost];
  float weight[kMost];
  int count = 0;

  void add(const float* source, float factor) {
    from[count] = source;
    weight[count++] = factor;
  }
};

template <int count, bool adds>
PANDO_INLINE void mix_some(const Sources& sources, float* __restrict to, int64_t elements) {
  const float* from[count];
  float weight[count];
  for (int k = 0; k < count; ++k) {
    from[k] = sources.from[k];
    weight[k] = sources.weight[k];
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < elements; ++i) {
    float sum = adds ? to[i] : 0.0f;
#pragma GCC unroll 4
    for (int k = 0; k < count; ++k) sum += from[k][i] * weight[k];
    to[i] = sum;
  }
}

// to = the weighted sum of the sources, or to += it.
template <bool adds>
PANDO_INLINE void mix(const Sources& sources, float* to, int64_t elements) {
  switch (sources.count) {
    case 1: return mix_some<1, adds>(sources, to, elements);
    case 2: return mix_some<2, adds>(sources, to, elements);
    case 3: return mix_some<3, adds>(sources, to, elements);
    case 4: return mix_some<4, adds>(sources, to, elements);
    default: return;
  }
}

// Collects sources and mixes them when there are enough. The first to be mixed overwrite.
class Mixer {
 public:
  PANDO_INLINE Mixer(float* to, int64_t elements) : to_(to), elements_(elements) {}
  PANDO_INLINE void add(const float* from, float weight) {
    if (sources_.count == Sources::kMost) flush();
    sources_.add(from, weight);
  }
  PANDO_INLINE void flush() {
    if (first_) {
      if (sources_.count == 0) std::fill_n(to_, elements_, 0.0f);
      mix<false>(sources_, to_, elements_);
    } else {
      mix<true>(sources_, to_, elements_);
    }
    first_ = false;
    sources_.count = 0;
  }

 private:
  float* to_;
  int64_t elements_;
  Sources sources_;
  bool first_ = true;
};

// The row of the source that the result's row is made of: as it is, or mixed in scratch memory.
PANDO_INLINE const float* mixed_row(const ResizePlan& plan, const float* x, int64_t row,
                                    float* scratch) {
  const auto& [depth, height, width] = plan.maps;
  const int64_t sample = row / height.result / depth.result;
  const Range deep = depth.of(row / height.result % depth.result);
  const Range high = height.of(row % height.result);
  const int64_t length = plan.source_row();
  Mixer mixer(scratch, length);
  for (int64_t d = deep.begin; d < deep.end; ++d) {
    for (int64_t h = high.begin; h < high.end; ++h) {
      const int64_t plane = sample * depth.source + depth.tap(d).at;
      const float* from = x + (plane * height.source + height.tap(h).at) * length;
      const float weight = depth.tap(d).weight * height.tap(h).weight;
      if (deep.size() == 1 && high.size() == 1 && weight == 1) return from;
      mixer.add(from, weight);
    }
  }
  mixer.flush();
  return scratch;
}

PANDO_INLINE void mix_pixel(const AxisMap& width, Range taps, const float* from, float* to,
                            int64_t channels) {
  const PlaceTap* tap = width.taps.data() + taps.begin;
  if (taps.size() == 2) {  // most of those that enlarge
    const Sources two{{from + tap[0].at * channels, from + tap[1].at * channels},
                      {tap[0].weight, tap[1].weight},
                      2};
    return mix_some<2, false>(two, to, channels);
  }
  Mixer mixer(to, channels);
  for (int64_t t = 0; t < taps.size(); ++t) mixer.add(from + tap[t].at * channels, tap[t].weight);
  mixer.flush();
}

PANDO_MULTIVERSION void resize_rows(const ResizePlan& plan, const float* x, float* y,
                                    float* scratch, Range rows) {
  const AxisMap& width = plan.maps[2];
  const int64_t channels = plan.channels;
  float* to = y + rows.begin * plan.result_row();
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float* from = mixed_row(plan, x, row, scratch);
    for (int64_t w = 0; w < width.result; ++w, to += channels) {
      const Range taps = width.of(w);
      if (taps.size() == 1 && width.tap(taps.begin).weight == 1) {
        std::memcpy(to, from + width.tap(taps.begin).at * channels,
                    static_cast<size_t>(channels) * sizeof(float));
        continue;
      }
      mix_pixel(width, taps, from, to, channels);
    }
  }
}

KernelOffer offer_resize(const ir::Node& node, bool gradient) {
  const auto plan = std::make_shared<const ResizePlan>(node, gradient);
  const auto run = [plan](const KernelArgs& args, const StepArgs& step) {
    resize_rows(*plan, args.in(0), args.out(), reinterpret_cast<float*>(args.scratch),
                fast::share(step.part, plan->rows()));
  };
  return offer_function(
      "fast", run,
      {.splits = true, .scratch_bytes = static_cast<size_t>(plan->source_row()) * sizeof(float)});
}

}  // namespace

KernelOffer fast_resize(const ir::Node& node) { return offer_resize(node, false); }
KernelOffer fast_resize_grad(const ir::Node& node) { return offer_resize(node, true); }

}  // namespace pando::kernels
