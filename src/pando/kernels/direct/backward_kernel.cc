// The filter gradient.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/backward_kernel.h"

#include <algorithm>

#include "pando/kernels/direct/blocks.h"
#include "pando/kernels/direct/scratch.h"

namespace pando::kernels::direct {
namespace {

// Long enough to hide the loading and storing of the sums, short enough that a panel of dy stays in
// the first-level cache while all filter elements use it.
constexpr int64_t kChunkPixels = 128;

// Pixels [first, first + pixels) of a phase's tables, with offsets relative to x and dy.
struct Chunk {
  const Phase* phase;
  int64_t first;
  int64_t pixels;
  const float* x;
  const float* dy;
  bool first_sum;  // overwrites the gradient
};

// Copying a column of dy into a panel pays off if many filter elements use it: neighbouring pixels
// of a wide tensor would map to few cache sets and evict each other.
constexpr int64_t kPackFrom = 64;

bool packs_outputs(const GatherPlan& conv) {
  return conv.packed.front().count >= kPackFrom || conv.group_output % conv.lanes != 0;
}

// Lets the panel read dy in place or from a copy.
void set_panel(const GatherPlan& conv, const IsaKernels& isa, const RowsArgs& dy, PanelArgs& args,
               float* panel) {
  if (!packs_outputs(conv)) {
    args.w = dy.x;
    args.w_row = dy.row;
    args.w_stride = dy.stride;
    return;
  }
  RowsArgs rows = dy;
  rows.y = panel;
  isa.copy_rows(rows);
  args.w = panel;
  args.w_row = nullptr;
  args.w_stride = (dy.channels + conv.lanes - 1) / conv.lanes * conv.lanes;
}

void add_chunk(const GatherPlan& conv, const IsaKernels& isa, const Chunk& chunk,
               const DirectConv::FilterGradient& gradient, float* panel) {
  const Phase& phase = *chunk.phase;
  RowsArgs dy;
  dy.row = phase.pixel_row.empty() ? nullptr : phase.pixel_row.data() + chunk.first;
  dy.rows = chunk.pixels;
  dy.stride = conv.spec.output_channels;
  PanelArgs args;
  args.row_offset = phase.k_offset.data();
  args.rows = phase.k_count();
  args.k_offset = phase.pixel_offset.data() + chunk.first;
  args.k_count = chunk.pixels;
  args.y_row = phase.k_row.empty() ? nullptr : phase.k_row.data();
  args.y_stride = conv.spec.output_channels;
  args.accumulate = !chunk.first_sum;
  // The outputs of the next chunk usually follow the last output of this one.
  const int64_t last =
      dy.row == nullptr ? chunk.first + chunk.pixels - 1 : dy.row[chunk.pixels - 1];
  args.fetch = chunk.dy + (last + 1) * dy.stride;
  args.fetch_count = chunk.pixels * dy.stride;
  for (int64_t group = 0; group < conv.spec.groups; ++group) {
    args.x = chunk.x + group * conv.group_source;
    for (const Column& column : conv.columns) {
      const int64_t channel = group * conv.group_output + column.first;
      dy.x = chunk.dy + (phase.pixel_row.empty() ? chunk.first * dy.stride : 0) + channel;
      dy.channels = conv.channels(column);
      if (gradient.bias != nullptr) {
        dy.y = gradient.bias + channel;
        isa.add_rows(dy);
      }
      if (args.rows == 0) continue;
      set_panel(conv, isa, dy, args, panel);
      args.y = gradient.filter + channel;
      args.last_lanes = column.last_lanes;
      isa.panel[column.vectors - 1](args);
      args.fetch_count = 0;
    }
  }
}

// Only a chunk has to stay in cache, so a block may hold many samples.
GatherSpec gradient_spec(const ConvGeometry& geometry) {
  GatherSpec spec = forward_spec(geometry);
  spec.block_bytes = 64 << 20;
  return spec;
}

}  // namespace

FilterGradientPlan::FilterGradientPlan(const ConvGeometry& geometry, const IsaKernels& isa)
    : conv(gradient_spec(geometry), isa) {
  for (const Phase& phase : conv.phases) {
    chunk_pixels = std::max(chunk_pixels, static_cast<int64_t>(phase.pixel_offset.size()));
  }
  chunk_pixels = std::min(chunk_pixels, kChunkPixels);
  if (packs_outputs(conv)) panel_floats = chunk_pixels * conv.width(conv.columns.front());
}

void backward_kernel(const FilterGradientPlan& plan, const IsaKernels& isa,
                     const FilterGradientCall& call, std::byte* scratch, Part part) {
  const GatherPlan& conv = plan.conv;
  const int64_t channels = conv.spec.output_channels;
  const int64_t rows = conv.packed.front().count;
  float* panel = Scratch(scratch).take(plan.panel_floats);
  // If the first chunk reaches every element, it can overwrite instead of add.
  bool first =
      conv.phases.size() == 1 && conv.phases.front().k_count() == rows &&
      part.begin(conv.spec.batch * conv.units()) < part.end(conv.spec.batch * conv.units());
  if (!first) std::fill_n(call.gradient.filter, rows * channels, 0.0f);
  if (call.gradient.bias != nullptr) std::fill_n(call.gradient.bias, channels, 0.0f);
  for_each_block(conv, part, [&](const Block& block) {
    const float* dy = call.dy + block.sample * conv.output_size();
    for (const Phase& phase : conv.phases) {
      const PhaseRows range(phase, block);
      if (range.empty()) continue;
      Chunk chunk{&phase, 0, 0, call.x, dy, first};
      chunk.x += block.sample * conv.source_size() +
                 range.begin * conv.spec.source_step[0] * conv.source_plane;
      chunk.dy += (phase.output_begin + range.begin * phase.output_step[0]) * channels;
      const int64_t pixels = range.pixels(phase);
      const int64_t chunks = (pixels + plan.chunk_pixels - 1) / plan.chunk_pixels;
      for (int64_t i = 0; i < chunks; ++i) {
        chunk.first = pixels * i / chunks;
        chunk.pixels = pixels * (i + 1) / chunks - chunk.first;
        add_chunk(conv, isa, chunk, call.gradient, panel);
        chunk.first_sum = first = false;
      }
    }
  });
}

}  // namespace pando::kernels::direct
