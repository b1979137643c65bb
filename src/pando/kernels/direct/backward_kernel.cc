// The filter gradient.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/backward_kernel.h"

#include <algorithm>

#include "pando/kernels/direct/blocks.h"
#include "pando/kernels/direct/scratch.h"
#include "pando/kernels/divide_up.h"

namespace pando::kernels::direct {
namespace {

// Long enough to hide the loading and storing of the sums, short enough that a panel of dy stays in
// the first-level cache while all filter elements use it.
constexpr int64_t kChunkPixels = 128;
// Packed x leaves room for a longer panel, which loads and stores the sums less often.
constexpr int64_t kPackedChunkPixels = 256;

// Packed x stays in the second-level cache while all columns use it.
constexpr int64_t kPackedBytes = 256 * 1024;
// In place, the channels of a tile lie as far apart as pixels, and lines a power of two apart evict
// each other. Packing them pays off if there are many pixels, and many outputs use the copy.
constexpr int64_t kPackXFromPixels = kChunkPixels;
constexpr int64_t kPackXFromChannels = 64;
constexpr int64_t kPackXFromOutputs = 256;

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

struct Work {
  const FilterGradientPlan& plan;
  const IsaKernels& isa;
  const DirectConv::FilterGradient& gradient;
  float* panel;     // memory for a copy of dy
  float* packed_x;  // and of x
};

RowsArgs outputs_of(const GatherPlan& conv, const Chunk& chunk) {
  const std::vector<int32_t>& rows = chunk.phase->pixel_row;
  RowsArgs dy;
  dy.x = chunk.dy;
  dy.rows = chunk.pixels;
  dy.stride = conv.spec.output_channels;
  if (rows.empty()) {
    dy.x += chunk.first * dy.stride;
  } else {
    dy.row = rows.data() + chunk.first;
  }
  return dy;
}

PanelArgs sums_of(const GatherPlan& conv, const Chunk& chunk) {
  const Phase& phase = *chunk.phase;
  PanelArgs args;
  args.row_offset = phase.k_offset.data();
  args.k_offset = phase.pixel_offset.data() + chunk.first;
  args.k_count = chunk.pixels;
  args.y_row = phase.k_row.empty() ? nullptr : phase.k_row.data();
  args.y_stride = conv.spec.output_channels;
  args.accumulate = !chunk.first_sum;
  return args;
}

// The outputs of the next chunk usually follow the last output of this one. The first panel
// prefetches them; with packed x every panel prefetches a share, because a tile waits if it has to
// fetch many lines at once.
void fetch_outputs_after(const RowsArgs& dy, int64_t panels, PanelArgs& args) {
  const int64_t last = dy.row == nullptr ? dy.rows - 1 : dy.row[dy.rows - 1];
  args.fetch = dy.x + (last + 1) * dy.stride;
  args.fetch_count = dy.rows * dy.stride / panels;
}

// A column of three vectors is wider than the panels for packed x.
void run_packed(const IsaKernels& isa, int vectors, PanelArgs args) {
  if (vectors > kMaxPackedVectors) {
    PanelArgs first = args;
    first.last_lanes = isa.lanes;
    isa.packed.panel[kMaxPackedVectors - 1](first);
    args.w += int64_t{kMaxPackedVectors} * isa.lanes;
    args.y += int64_t{kMaxPackedVectors} * isa.lanes;
    args.fetch_count = 0;
    vectors -= kMaxPackedVectors;
  }
  isa.packed.panel[vectors - 1](args);
}

// The filter elements [first, first + args.rows) of a group.
struct FilterRows {
  int64_t group;
  int64_t first;
  const float* x;  // of the group, in place
};

void add_rows_of_gradient(const Work& work, const FilterRows& rows, RowsArgs dy, PanelArgs& args) {
  const GatherPlan& conv = work.plan.conv;
  const bool packs = work.plan.packed_channels > 0;
  args.x = rows.x;
  if (packs) {
    work.isa.packed.pack_columns(
        {rows.x + rows.first, args.k_offset, args.k_count, 1, args.rows, work.packed_x});
    args.x = work.packed_x;
  }
  const float* const outputs = dy.x;
  for (const Column& column : conv.columns) {
    const int64_t channel = rows.group * conv.group_output + column.first;
    dy.x = outputs + channel;
    dy.channels = conv.channels(column);
    if (work.gradient.bias != nullptr && rows.first == 0) {
      dy.y = work.gradient.bias + channel;
      work.isa.add_rows(dy);
    }
    if (args.rows == 0) continue;
    set_panel(conv, work.isa, dy, args, work.panel);
    args.y = work.gradient.filter + rows.first * args.y_stride + channel;
    args.last_lanes = column.last_lanes;
    if (packs) {
      run_packed(work.isa, column.vectors, args);
      args.fetch += args.fetch_count;
    } else {
      work.isa.panel[column.vectors - 1](args);
      args.fetch_count = 0;
    }
  }
}

void add_chunk(const Work& work, const Chunk& chunk) {
  const GatherPlan& conv = work.plan.conv;
  const RowsArgs dy = outputs_of(conv, chunk);
  PanelArgs args = sums_of(conv, chunk);
  const int64_t elements = chunk.phase->k_count();
  const int64_t most = work.plan.packed_channels;
  const auto pieces = most > 0 ? static_cast<int>(divide_up(elements, most)) : 1;
  const auto columns = static_cast<int64_t>(conv.columns.size());
  fetch_outputs_after(dy, most > 0 ? conv.spec.groups * pieces * columns : 1, args);
  for (int64_t group = 0; group < conv.spec.groups; ++group) {
    for (int i = 0; i < pieces; ++i) {
      const Part piece{i, pieces};
      const FilterRows rows{group, piece.begin(elements), chunk.x + group * conv.group_source};
      args.rows = piece.end(elements) - rows.first;
      add_rows_of_gradient(work, rows, dy, args);
    }
  }
}

// Whether x is packed, which takes filter elements that are channels: one phase with one tap.
bool packs_x(const GatherPlan& conv, const IsaKernels& isa) {
  const Phase& phase = conv.phases.front();
  return isa.packed.rows > 0 && conv.spec.filter == Extents{1, 1, 1} && conv.phases.size() == 1 &&
         phase.k_count() > 0 &&
         static_cast<int64_t>(phase.pixel_offset.size()) >= kPackXFromPixels &&
         conv.group_source >= kPackXFromChannels && conv.group_output >= kPackXFromOutputs;
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
  const bool packs = packs_x(conv, isa);
  for (const Phase& phase : conv.phases) {
    chunk_pixels = std::max(chunk_pixels, static_cast<int64_t>(phase.pixel_offset.size()));
  }
  chunk_pixels = std::min(chunk_pixels, packs ? kPackedChunkPixels : kChunkPixels);
  if (packs_outputs(conv)) panel_floats = chunk_pixels * conv.width(conv.columns.front());
  if (packs) {
    const int64_t most = kPackedBytes / int64_t{sizeof(float)} / chunk_pixels;
    packed_channels = std::min(conv.group_source, most);
  }
}

void backward_kernel(const FilterGradientPlan& plan, const IsaKernels& isa,
                     const FilterGradientCall& call, std::byte* scratch, Part part) {
  const GatherPlan& conv = plan.conv;
  const int64_t channels = conv.spec.output_channels;
  const int64_t rows = conv.packed.front().count;
  Scratch memory(scratch);
  float* const panel = memory.take(plan.panel_floats);
  const Work work{plan, isa, call.gradient, panel, memory.take(plan.packed_floats())};
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
        add_chunk(work, chunk);
        chunk.first_sum = first = false;
      }
    }
  });
}

}  // namespace pando::kernels::direct
