// Packing kernels into panels and running panels over the pixels of a block.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/panels.h"

#include <algorithm>

namespace pando::kernels::direct {
namespace {

// The part of a panel that is used for all pixels before the next: half of a 32 KiB first-level
// cache, the rest is for the source.
constexpr int64_t kPanelBytes = 16 * 1024;

struct PanelPlace {
  const Phase* phase;
  const Column* column;
  int64_t group;
  float* packed;
};

struct PackSource {
  const float* kernel;
  int64_t k_stride;  // between source channels
  int64_t c_stride;  // between output channels
  int64_t tap_stride;
  int64_t group_offset;
};

PackSource pack_source(const GatherPlan& plan, PackOrder order, const float* kernel,
                       int64_t group) {
  if (order == PackOrder::forward) {
    const int64_t out = plan.spec.output_channels;
    return {kernel, out, 1, plan.group_source * out, group * plan.group_output};
  }
  const int64_t out = plan.spec.source_channels;  // out_channels of the convolution
  return {kernel, 1, out, plan.group_output * out, group * plan.group_source};
}

void pack_rows(const GatherPlan& plan, const PackSource& source, const PanelPlace& place,
               Part part) {
  const int64_t width = place.column->vectors * int64_t{plan.lanes};
  const int64_t channels =
      (place.column->vectors - 1) * int64_t{plan.lanes} + place.column->last_lanes;
  const int64_t total = plan.k_count(*place.phase);
  for (int64_t k = part.begin(total); k < part.end(total); ++k) {
    const int64_t tap = place.phase->taps[static_cast<size_t>(k / plan.group_source)];
    const float* from = source.kernel + tap * source.tap_stride + source.group_offset +
                        (k % plan.group_source) * source.k_stride +
                        place.column->first * source.c_stride;
    float* to = place.packed + k * width;
    for (int64_t c = 0; c < channels; ++c) to[c] = from[c * source.c_stride];
    std::fill(to + channels, to + width, 0.0f);
  }
}

int64_t panel_floats(const GatherPlan& plan, const Phase& phase, const Column& column) {
  return plan.k_count(phase) * column.vectors * plan.lanes;
}

}  // namespace

void pack_panels(const GatherPlan& plan, PackOrder order, const float* kernel, float* packed,
                 Part part) {
  for (const Phase& phase : plan.phases) {
    float* to = packed + phase.packed;
    for (int64_t group = 0; group < plan.spec.groups; ++group) {
      const PackSource source = pack_source(plan, order, kernel, group);
      for (const Column& column : plan.columns) {
        pack_rows(plan, source, {&phase, &column, group, to}, part);
        to += panel_floats(plan, phase, column);
      }
    }
  }
}

void run_panels(const GatherPlan& plan, const IsaKernels& isa, const PixelRun& run,
                const float* packed, const Epilogue& epilogue) {
  const Phase& phase = *run.phase;
  const int64_t k_total = plan.k_count(phase);
  PanelArgs args;
  args.row_offset = phase.pixel_offset.data() + run.first;
  args.rows = run.count;
  args.y_offset = phase.pixel_output.empty() ? nullptr : phase.pixel_output.data() + run.first;
  args.y_stride = plan.spec.output_channels;
  args.activation = epilogue.activation;
  args.alpha = epilogue.alpha;
  const float* panel = packed + phase.packed;
  for (int64_t group = 0; group < plan.spec.groups; ++group) {
    args.x = run.window + group * plan.group_source;
    for (const Column& column : plan.columns) {
      const int64_t channel = group * plan.group_output + column.first;
      args.y = run.y + channel;
      args.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + channel;
      args.w_stride = column.vectors * int64_t{plan.lanes};
      args.last_lanes = column.last_lanes;
      const int64_t k_block = kPanelBytes / (args.w_stride * int64_t{sizeof(float)});
      int64_t k = 0;
      do {  // once even without taps: the result is then zero
        args.accumulate = k > 0;
        args.k_count = std::min(k_block, k_total - k);
        args.k_offset = phase.k_offset.data() + k;
        args.w = panel + k * args.w_stride;
        k += args.k_count;
        args.finish = k == k_total;
        isa.panel[column.vectors - 1](args);
      } while (k < k_total);
      panel += panel_floats(plan, phase, column);
    }
  }
}

}  // namespace pando::kernels::direct
