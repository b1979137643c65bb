// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/depthwise_windows.h"

#include <algorithm>

#include "pando/kernels/direct/isa_kernels.h"
#include "pando/kernels/fast/activation_loops.h"
#include "pando/kernels/fast/depthwise_bands.h"
#include "pando/kernels/fast/vector_activation.h"

namespace pando::kernels::fast {
namespace {

// A band's rows of source and result: a part of a second-level cache.
constexpr int64_t kBandBytes = 256 * 1024;

int64_t band_rows(const WindowPlan& plan) {
  const int64_t source = plan.spread ? plan.source_width : plan.source_width * plan.stride;
  const int64_t bytes = (plan.width + source) * plan.channels * static_cast<int64_t>(sizeof(float));
  // Few rows read the filter of many channels often, but each loop over them needs them in cache.
  return std::max<int64_t>(kBandBytes / bytes, plan.wide ? 8 : 4);
}

}  // namespace

WindowPlan::WindowPlan(const ConvGeometry& g)
    : batch(g.batch),
      channels(g.in_channels),
      height(g.out[1]),
      width(g.out[2]),
      source_height(g.in[1]),
      source_width(g.in[2]),
      window(g.filter[1]),
      stride(g.stride[1]),
      pad_top(g.pad_low[1]),
      pad_left(g.pad_low[2]),
      wide(direct::choose_isa().lanes >= 16),
      band_rows(fast::band_rows(*this)) {}

WindowPlan WindowPlan::of_input_grad(const ConvGeometry& g) {
  WindowPlan plan(g);
  std::swap(plan.height, plan.source_height);
  std::swap(plan.width, plan.source_width);
  if (plan.stride != 1) {
    plan.spread = true;
    plan.band_rows = fast::band_rows(plan);
    return plan;
  }
  plan.pad_top = plan.window - 1 - plan.pad_top;
  plan.pad_left = plan.window - 1 - plan.pad_left;
  plan.turned = true;
  return plan;
}

bool has_windows(const ConvGeometry& g) {
  const int64_t window = g.filter[1];
  return direct::choose_isa().lanes >= kLanes && (window == 3 || window == 5) &&
         g.filter == ConvGeometry::Extents{1, window, window} && g.in[0] == 1 && g.out[0] == 1 &&
         (g.stride[1] == 1 || g.stride[1] == 2) && g.stride[1] == g.stride[2] &&
         g.dilation == ConvGeometry::Extents{1, 1, 1};
}

namespace {

SumBand made_band(const WindowPlan& plan, const WindowData& data, const WindowEnds& ends,
                  Range rows) {
  SumBand band{plan, data, ends, rows, plan.is_large()};
  if (!band.fetches) return band;
  const Range next{rows.end, std::min(rows.end + plan.band_rows, plan.result_rows())};
  const int64_t steps = rows.size() * (plan.channels / (plan.wide ? 2 * kLanes : kLanes) + 1);
  const int64_t source_row = plan.source_width * plan.channels;
  const int64_t result_row = plan.width * plan.channels;
  const int64_t first = plan.source_row(next.begin);
  band.source =
      Ahead(data.x + first * source_row, (plan.source_row(next.end) - first) * source_row, steps);
  band.result = Ahead(data.y + next.begin * result_row, next.size() * result_row, steps);
  return band;
}

}  // namespace

bool WindowPlan::is_large() const {
  constexpr int64_t kLargeFloats = 1 << 19;
  return batch * channels * (height * width + source_height * source_width) > kLargeFloats;
}

void sum_windows(const WindowPlan& plan, const WindowData& data, const WindowEnds& ends,
                 Range rows) {
  WindowEnds in_band = ends;
  if (!in_registers(ends.activation.kind)) in_band.activation = {};
  const int64_t length = plan.width * plan.channels;
  for (int64_t row = rows.begin; row < rows.end; row += plan.band_rows) {
    const Range band{row, std::min(row + plan.band_rows, rows.end)};
    sum_band(made_band(plan, data, in_band, band));
    if (in_registers(ends.activation.kind)) continue;
    activate(ends.activation, data.y + band.begin * length, band.size() * length);
  }
}

void add_window_products(const WindowPlan& plan, const WindowGradData& data, Range rows) {
  for (int64_t row = rows.begin; row < rows.end; row += plan.band_rows) {
    add_grad_band({plan, data, {row, std::min(row + plan.band_rows, rows.end)}});
  }
}

}  // namespace pando::kernels::fast
