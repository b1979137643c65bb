// Convolution, bias, activation and max pooling in one pass.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/forward_pool.h"

#include <algorithm>

#include "pando/kernels/direct/panels.h"
#include "pando/kernels/direct/scratch.h"
#include "pando/kernels/direct/sliding_window.h"

namespace pando::kernels::direct {
namespace {

constexpr int64_t kRowsBytes = 64 * 1024;

Extents in_order(const Extents& extents, const std::array<int, 3>& axes) {
  Extents result;
  for (size_t i = 0; i < 3; ++i) result[i] = extents[static_cast<size_t>(axes[i])];
  return result;
}

GatherSpec pooled_spec(const ConvGeometry& geometry, const Extents& window, const Extents& out) {
  ConvGeometry trimmed = geometry;
  for (size_t i = 0; i < 3; ++i) trimmed.out[i] = out[i] * window[i];
  GatherSpec spec = forward_spec(trimmed);
  spec.unit_rows = window[0];
  return spec;
}

// One pass: pooled planes and rows of a block that fit into the scratch together.
struct Pass {
  const Block& block;
  int64_t plane, planes;  // pooled, relative to the block
  int64_t row, rows;      // pooled
};

void convolve(const PoolPlan& plan, const IsaKernels& isa, const PoolCall& call, const Pass& pass,
              float* conv_rows) {
  const Phase& phase = plan.conv.phases.front();
  const int64_t rows = pass.rows * plan.window[1];
  const int64_t width = phase.count[2];
  const int64_t plane_pixels = phase.pixels_per_row();
  const int64_t planes = pass.planes * plan.window[0];
  PixelRun run{&phase, pass.plane * plan.window[0] * plane_pixels, 0, pass.block.window, conv_rows};
  if (pass.rows == plan.out[1]) {
    run.count = planes * plane_pixels;
    run_panels(plan.conv, isa, run, call.packed, call.epilogue);
    return;
  }
  run.count = rows * width;
  run.first += pass.row * plan.window[1] * width;
  for (int64_t i = 0; i < planes; ++i) {
    run_panels(plan.conv, isa, run, call.packed, call.epilogue);
    run.first += plane_pixels;
    run.y += run.count * plan.conv.spec.output_channels;
  }
}

void pool(const PoolPlan& plan, const IsaKernels& isa, const PoolCall& call, const Pass& pass,
          const float* conv_rows) {
  const int64_t channels = plan.conv.spec.output_channels;
  PoolRowArgs args;
  std::copy(plan.window.begin(), plan.window.end(), args.window);
  args.channels = channels;
  args.count = plan.out[2];
  args.row_stride = plan.out[2] * plan.window[2] * channels;
  args.plane_stride = pass.rows * plan.window[1] * args.row_stride;
  for (int64_t i = 0; i < pass.planes; ++i) {
    const int64_t plane = pass.block.row / plan.window[0] + pass.plane + i;
    for (int64_t j = 0; j < pass.rows; ++j) {
      args.x =
          conv_rows + i * plan.window[0] * args.plane_stride + j * plan.window[1] * args.row_stride;
      const int64_t line = (pass.block.sample * plan.out[0] + plane) * plan.out[1] + pass.row + j;
      args.y = call.pooled.y + line * plan.out[2] * channels;
      args.index = call.pooled.index + line * plan.out[2] * channels;
      isa.pool_row(args);
    }
  }
}

}  // namespace

PoolPlan::PoolPlan(const ConvGeometry& geometry, const PoolGeometry& pool_geometry,
                   const std::array<int, 3>& axes, const IsaKernels& isa)
    : window(in_order(pool_geometry.window, axes)),
      out(in_order(pool_geometry.out, axes)),
      conv(pooled_spec(geometry, window, out), isa) {
  const int64_t row_floats = window[0] * window[1] * window[2] * out[2] * conv.spec.output_channels;
  const int64_t budget = kRowsBytes / static_cast<int64_t>(sizeof(float)) / row_floats;
  chunk_rows = std::clamp<int64_t>(budget, 1, out[1]);
  if (chunk_rows == out[1]) {
    chunk_planes = std::clamp<int64_t>(budget / out[1], 1, conv.block_rows / window[0]);
  }
  rows_floats = row_floats * chunk_rows * chunk_planes;
}

void forward_pool(const PoolPlan& plan, const IsaKernels& isa, const PoolCall& call,
                  std::byte* scratch, Part part) {
  Scratch memory(scratch);
  const SlidingWindow window(plan.conv, call.x, memory.take(plan.conv.window_floats()));
  float* conv_rows = memory.take(plan.rows_floats);
  for_each_block(plan.conv, window, part, [&](const Block& block) {
    const int64_t planes = block.rows / plan.window[0];
    for (int64_t plane = 0; plane < planes; plane += plan.chunk_planes) {
      for (int64_t row = 0; row < plan.out[1]; row += plan.chunk_rows) {
        const Pass pass{block, plane, std::min(plan.chunk_planes, planes - plane), row,
                        std::min(plan.chunk_rows, plan.out[1] - row)};
        convolve(plan, isa, call, pass, conv_rows);
        pool(plan, isa, call, pass, conv_rows);
      }
    }
  });
}

}  // namespace pando::kernels::direct
