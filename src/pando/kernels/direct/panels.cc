// Runs panels over pixels.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/panels.h"

#include <algorithm>

#include "pando/kernels/divide_up.h"
#include "pando/kernels/fast/activation_loops.h"

namespace pando::kernels::direct {
namespace {

// The part of a panel that is used for all pixels before the next part. It streams from the
// first- or second-level cache; a larger part would save little of the storing and loading of sums.
constexpr int64_t kPanelBytes = 32 * 1024;

// Results beyond this do not stay in a second-level cache.
constexpr int64_t kManyOutputBytes = 2 << 20;

}  // namespace

void apply_curve(Activation activation, float alpha, float* values, int64_t count) {
  fast::activate({activation, alpha}, values, count);
}

void run_panels(const GatherPlan& plan, const IsaKernels& isa, const PixelRun& run,
                const float* packed, const Epilogue& epilogue) {
  const Phase& phase = *run.phase;
  const PackedRows& rows = plan.packed[phase.packed];
  const bool all_rows = phase.k_row.empty();
  PanelArgs args;
  args.row_offset = phase.pixel_offset.data();
  args.rows = run.count;
  args.y_row = phase.pixel_row.empty() ? nullptr : phase.pixel_row.data();
  args.y_stride = plan.spec.output_channels;
  args.activation = epilogue.activation;
  args.alpha = epilogue.alpha;
  args.fetch_y = plan.spec.batch * plan.output_size() * int64_t{sizeof(float)} > kManyOutputBytes;
  const auto columns = static_cast<int64_t>(plan.columns.size());
  for (int64_t group = 0; group < plan.spec.groups; ++group) {
    args.x = run.x + group * plan.group_source;
    const float* panels = packed + rows.begin + group * rows.count * plan.padded_output();
    for (int64_t i = run.columns.begin(columns); i < run.columns.end(columns); ++i) {
      const Column& column = plan.columns[static_cast<size_t>(i)];
      const float* panel = panels + rows.count * column.first;
      const int64_t channel = group * plan.group_output + column.first;
      args.y = run.y + channel;
      args.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + channel;
      args.residual = run.residual == nullptr ? nullptr : run.residual + channel;
      args.w_stride = plan.width(column);
      args.last_lanes = column.last_lanes;
      const int64_t panel_bytes = phase.k_count() * args.w_stride * int64_t{sizeof(float)};
      const int64_t k_block =
          divide_up(phase.k_count(), std::max<int64_t>(divide_up(panel_bytes, kPanelBytes), 1));
      int64_t k = 0;
      do {  // once even without taps: the result is then the bias alone
        args.accumulate = k > 0;
        args.k_count = std::min(k_block, phase.k_count() - k);
        args.k_offset = phase.k_offset.data() + k;
        args.w = all_rows ? panel + k * args.w_stride : panel;
        args.w_row = all_rows ? nullptr : phase.k_row.data() + k;
        args.fetch = args.w + args.k_count * args.w_stride;
        args.fetch_count = all_rows ? args.k_count * args.w_stride : 0;
        k += args.k_count;
        args.finish = k == phase.k_count();
        isa.panel[column.vectors - 1](args);
      } while (k < phase.k_count());
    }
  }
}

}  // namespace pando::kernels::direct
