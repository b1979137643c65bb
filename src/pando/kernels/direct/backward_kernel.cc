// The gradient of the kernel.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/backward_kernel.h"

#include <algorithm>

#include "pando/kernels/direct/scratch.h"
#include "pando/kernels/direct/sliding_window.h"

namespace pando::kernels::direct {
namespace {

// Long enough to hide the loading and storing of the sums, short enough that the pixels stay in
// the first-level cache while all kernel elements pass.
constexpr int64_t kChunkPixels = 192;

struct Chunk {
  const float* window;
  const int32_t* pixel_offset;
  int64_t pixels;
  const float* dy;
  bool first;
};

// Copies dy with the channels of each group padded to whole vectors.
void pad_outputs(const KernelGradientPlan& plan, const Chunk& chunk, float* to) {
  const int64_t channels = plan.conv.group_output;
  for (int64_t i = 0; i < chunk.pixels * plan.conv.spec.groups; ++i, to += plan.padded_outputs) {
    std::copy_n(chunk.dy + i * channels, channels, to);
    std::fill(to + channels, to + plan.padded_outputs, 0.0f);
  }
}

void add_chunk(const KernelGradientPlan& plan, const IsaKernels& isa, const Chunk& chunk,
               float* dkernel, float* padded_dy) {
  const GatherPlan& conv = plan.conv;
  const Phase& phase = conv.phases.front();
  if (plan.padded_outputs > 0) pad_outputs(plan, chunk, padded_dy);
  const float* dy = plan.padded_outputs > 0 ? padded_dy : chunk.dy;
  const int64_t group_width = plan.padded_outputs > 0 ? plan.padded_outputs : conv.group_output;
  PanelArgs args;
  args.row_offset = phase.k_offset.data();
  args.rows = conv.k_count(phase);
  args.k_offset = chunk.pixel_offset;
  args.k_count = chunk.pixels;
  args.w_stride = group_width * conv.spec.groups;
  args.y_stride = conv.spec.output_channels;
  args.accumulate = !chunk.first;
  for (int64_t group = 0; group < conv.spec.groups; ++group) {
    args.x = chunk.window + group * conv.group_source;
    for (const Column& column : conv.columns) {
      args.w = dy + group * group_width + column.first;
      args.y = dkernel + group * conv.group_output + column.first;
      args.last_lanes = column.last_lanes;
      isa.panel[column.vectors - 1](args);
    }
  }
}

}  // namespace

KernelGradientPlan::KernelGradientPlan(const GatherPlan& forward) : conv(forward) {
  const int64_t pixels = conv.block_rows * conv.phases.front().pixels_per_row();
  const int64_t chunks = (pixels + kChunkPixels - 1) / kChunkPixels;
  chunk_pixels = (pixels + chunks - 1) / chunks;
  if (conv.group_output % conv.lanes != 0) {
    padded_outputs = (conv.group_output + conv.lanes - 1) / conv.lanes * conv.lanes;
    dy_floats = chunk_pixels * conv.spec.groups * padded_outputs;
  }
}

void backward_kernel(const KernelGradientPlan& plan, const IsaKernels& isa,
                     const KernelGradientCall& call, std::byte* scratch, Part part) {
  const GatherPlan& conv = plan.conv;
  const Phase& phase = conv.phases.front();
  const int64_t channels = conv.spec.output_channels;
  Scratch memory(scratch);
  const SlidingWindow window(conv, call.x, memory.take(conv.window_floats()));
  float* padded_dy = memory.take(plan.dy_floats);
  bool first = true;
  for_each_block(conv, window, part, [&](const Block& block) {
    const int64_t pixels = block.rows * phase.pixels_per_row();
    const float* dy = call.dy + block.sample * conv.output_size() + block.row * phase.output_row;
    for (int64_t i = 0; i < pixels; i += plan.chunk_pixels) {
      const Chunk chunk{block.window, phase.pixel_offset.data() + i,
                        std::min(plan.chunk_pixels, pixels - i), dy + i * channels, first};
      add_chunk(plan, isa, chunk, call.gradient.kernel, padded_dy);
      if (call.gradient.bias != nullptr) {
        isa.sum_rows({chunk.dy, chunk.pixels, channels, channels, call.gradient.bias, !first});
      }
      first = false;
    }
  });
  if (!first) return;
  std::fill_n(call.gradient.kernel, conv.k_count(phase) * channels, 0.0f);
  if (call.gradient.bias != nullptr) std::fill_n(call.gradient.bias, channels, 0.0f);
}

}  // namespace pando::kernels::direct
