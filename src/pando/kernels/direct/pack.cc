// Packs a canonical filter into the panels that the inner loops read.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/pack.h"

#include <algorithm>

namespace pando::kernels::direct {
namespace {

// Rows that are packed for all columns before the next rows; their source fits into a first-level
// cache.
constexpr int64_t kRowsAtATime = 16;

// The rows of some source channels of one tap: `from` is the first channel's place in the filter,
// `row` its row in the panels that start at `panels`.
struct TapRows {
  const float* from;
  float* panels;
  int64_t row;
  int64_t count;
  int64_t panel_rows;
};

void pack_forward_rows(const GatherPlan& plan, const IsaKernels& isa, const TapRows& rows,
                       const Column& column) {
  float* to = rows.panels + rows.panel_rows * column.first + rows.row * plan.width(column);
  isa.copy_rows({rows.from + column.first, nullptr, rows.count, plan.spec.output_channels,
                 plan.channels(column), to});
}

void pack_transposed_rows(const GatherPlan& plan, const IsaKernels& isa, const TapRows& rows,
                          const Column& column) {
  const int64_t width = plan.width(column);
  const int64_t channels = plan.channels(column);
  const int64_t stride = plan.spec.source_channels;  // out_channels of the convolution
  float* to = rows.panels + rows.panel_rows * column.first + rows.row * width;
  isa.transpose({rows.from + column.first * stride, stride, channels, rows.count, to, width});
  if (channels == width) return;
  for (int64_t i = 0; i < rows.count; ++i) {
    std::fill(to + i * width + channels, to + (i + 1) * width, 0.0f);
  }
}

}  // namespace

void pack_panels(const GatherPlan& plan, const IsaKernels& isa, const PackCall& call, Part part) {
  const bool forward = call.order == PackOrder::forward;
  const int64_t channel_floats = forward ? plan.spec.output_channels : 1;
  const int64_t group_floats = forward ? plan.group_output : plan.group_source;
  const int64_t tap_floats = plan.group_source * plan.spec.output_channels;
  const int64_t end = part.end(plan.group_source);
  for (const PackedRows& packed : plan.packed) {
    float* panels = call.packed + packed.begin;
    for (int64_t group = 0; group < plan.spec.groups; ++group) {
      for (size_t t = 0; t < packed.taps.size(); ++t) {
        const float* tap = call.filter + packed.taps[t] * tap_floats + group * group_floats;
        for (int64_t c = part.begin(plan.group_source); c < end; c += kRowsAtATime) {
          const TapRows rows{tap + c * channel_floats, panels,
                             static_cast<int64_t>(t) * plan.group_source + c,
                             std::min(kRowsAtATime, end - c), packed.count};
          for (const Column& column : plan.columns) {
            if (forward) {
              pack_forward_rows(plan, isa, rows, column);
            } else {
              pack_transposed_rows(plan, isa, rows, column);
            }
          }
        }
      }
      panels += packed.count * plan.padded_output();
    }
  }
}

}  // namespace pando::kernels::direct
