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

// to = from * weight, or to += from * weight.
PANDO_MULTIVERSION void mix(float* __restrict to, const float* __restrict from, float weight,
                            int64_t count, bool first) {
  if (first) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i] * weight;
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i] * weight;
  }
}

// The row of the source that the result's row is made of; null if it is made of none.
const float* mixed_row(const ResizePlan& plan, const float* x, int64_t row, float* scratch) {
  const auto& [depth, height, width] = plan.maps;
  const int64_t sample = row / height.result / depth.result;
  const Range deep = depth.of(row / height.result % depth.result);
  const Range high = height.of(row % height.result);
  const int64_t length = plan.source_row();
  bool first = true;
  for (int64_t d = deep.begin; d < deep.end; ++d) {
    for (int64_t h = high.begin; h < high.end; ++h) {
      const int64_t plane = sample * depth.source + depth.tap(d).at;
      const float* from = x + (plane * height.source + height.tap(h).at) * length;
      const float weight = depth.tap(d).weight * height.tap(h).weight;
      if (deep.size() == 1 && high.size() == 1 && weight == 1) return from;
      mix(scratch, from, weight, length, first);
      first = false;
    }
  }
  return first ? nullptr : scratch;
}

PANDO_INLINE void mix_pixel(const ResizePlan& plan, Range taps, const float* __restrict from,
                            float* __restrict to) {
  const AxisMap& width = plan.maps[2];
  const int64_t channels = plan.channels;
  if (taps.size() == 2) {
    const auto& [a, wa] = width.tap(taps.begin);
    const auto& [b, wb] = width.tap(taps.begin + 1);
    const float* p = from + a * channels;
    const float* q = from + b * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = p[c] * wa + q[c] * wb;
    return;
  }
  for (int64_t c = 0; c < channels; ++c) to[c] = 0;
  for (int64_t t = taps.begin; t < taps.end; ++t) {
    const auto& [at, weight] = width.tap(t);
    const float* p = from + at * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] += p[c] * weight;
  }
}

PANDO_MULTIVERSION void mix_pixels(const ResizePlan& plan, const float* from, float* to) {
  const AxisMap& width = plan.maps[2];
  const int64_t channels = plan.channels;
  for (int64_t w = 0; w < width.result; ++w, to += channels) {
    const Range taps = width.of(w);
    if (taps.size() == 1 && width.tap(taps.begin).weight == 1) {
      std::memcpy(to, from + width.tap(taps.begin).at * channels,
                  static_cast<size_t>(channels) * sizeof(float));
    } else {
      mix_pixel(plan, taps, from, to);
    }
  }
}

KernelOffer offer_resize(const ir::Node& node, bool gradient) {
  const auto plan = std::make_shared<const ResizePlan>(node, gradient);
  const auto run = [plan](const KernelArgs& args, const StepArgs& step) {
    const Range rows = fast::share(step.part, plan->rows());
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      float* to = args.out() + row * plan->result_row();
      const float* from = mixed_row(*plan, args.in(0), row, scratch);
      if (from == nullptr) {
        std::fill_n(to, plan->result_row(), 0.0f);
      } else {
        mix_pixels(*plan, from, to);
      }
    }
  };
  return offer_function(
      "fast", run,
      {.splits = true, .scratch_bytes = static_cast<size_t>(plan->source_row()) * sizeof(float)});
}

}  // namespace

KernelOffer fast_resize(const ir::Node& node) { return offer_resize(node, false); }
KernelOffer fast_resize_grad(const ir::Node& node) { return offer_resize(node, true); }

}  // namespace pando::kernels
