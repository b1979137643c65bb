// Convolution, bias, activation and max pooling in one pass.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/forward_pool.h"

#include <algorithm>

#include "pando/kernels/direct/blocks.h"
#include "pando/kernels/direct/panels.h"
#include "pando/kernels/direct/scratch.h"

namespace pando::kernels::direct {
namespace {

constexpr int64_t kRowsBytes = 64 * 1024;

Extents in_order(const Extents& extents, const std::array<int, 3>& axes) {
  Extents result;
  for (size_t i = 0; i < 3; ++i) result[i] = extents[static_cast<size_t>(axes[i])];
  return result;
}

// The number of pooled rows of one plane whose convolution results fit into the budget.
int64_t rows_per_pass(const Extents& window, const Extents& out, int64_t channels) {
  const int64_t row_floats = window[0] * window[1] * window[2] * out[2] * channels;
  const auto float_bytes = static_cast<int64_t>(sizeof(float));
  return std::clamp<int64_t>(kRowsBytes / float_bytes / row_floats, 1, out[1]);
}

// The convolution's outputs are stored with the strides of one pass.
GatherSpec pooled_spec(const ConvGeometry& geometry, const Extents& window, const Extents& out,
                       int64_t chunk_rows) {
  ConvGeometry trimmed = geometry;
  for (size_t i = 0; i < 3; ++i) trimmed.out[i] = out[i] * window[i];
  GatherSpec spec = forward_spec(trimmed);
  spec.output_stride[0] = chunk_rows * window[1] * trimmed.out[2];
  spec.unit_rows = window[0];
  spec.join_samples = false;
  return spec;
}

// Pooled planes and rows that fit into the scratch memory together, relative to the first of the
// sample.
struct Pass {
  int64_t sample;
  int64_t plane, planes;
  int64_t row, rows;
  float* conv_rows;  // the scratch
};

// Computes the pixels of one phase that lie in a pass. Rows and planes of the convolution are
// relative to the first of the phase.
void convolve_phase(const PoolPlan& plan, const IsaKernels& isa, const PoolCall& call,
                    const Pass& pass, const Phase& phase) {
  const GatherPlan& conv = plan.conv;
  const int64_t first_plane = pass.plane * plan.window[0];
  const int64_t first_row = pass.row * plan.window[1];
  const Block planes_of_pass{pass.sample, 1, first_plane, pass.planes * plan.window[0]};
  const PhaseRows planes(phase, planes_of_pass);
  const int64_t begin = std::max(first_row, phase.begin[1]) - phase.begin[1];
  const int64_t end =
      std::min(first_row + pass.rows * plan.window[1], phase.begin[1] + phase.count[1]) -
      phase.begin[1];
  if (planes.empty() || begin >= end) return;
  const bool whole = begin == 0 && end == phase.count[1];
  PixelRun run{&phase, (end - begin) * phase.count[2]};
  run.x = call.x + pass.sample * conv.source_size() +
          planes.begin * conv.spec.source_step[0] * conv.source_plane +
          begin * conv.spec.source_step[1] * conv.source_row;
  const int64_t pixel = phase.output_begin + planes.begin * phase.output_step[0] +
                        begin * phase.output_step[1] - first_plane * conv.spec.output_stride[0] -
                        first_row * conv.spec.output_stride[1];
  run.y = pass.conv_rows + pixel * conv.spec.output_channels;
  if (whole) {
    run.count = planes.pixels(phase);
    run_panels(conv, isa, run, call.packed, call.epilogue);
    return;
  }
  for (int64_t plane = planes.begin; plane < planes.end; ++plane) {
    run_panels(conv, isa, run, call.packed, call.epilogue);
    run.x += conv.spec.source_step[0] * conv.source_plane;
    run.y += phase.output_step[0] * conv.spec.output_channels;
  }
}

void pool(const PoolPlan& plan, const IsaKernels& isa, const PoolCall& call, const Pass& pass) {
  const GatherSpec& conv = plan.conv.spec;
  const int64_t channels = conv.output_channels;
  PoolRowArgs args;
  std::copy(plan.window.begin(), plan.window.end(), args.window);
  args.channels = channels;
  args.count = plan.out[2];
  args.row_stride = conv.output_stride[1] * channels;
  args.plane_stride = conv.output_stride[0] * channels;
  for (int64_t i = 0; i < pass.planes; ++i) {
    for (int64_t j = 0; j < pass.rows; ++j) {
      args.x = pass.conv_rows + i * plan.window[0] * args.plane_stride +
               j * plan.window[1] * args.row_stride;
      const int64_t plane = pass.sample * plan.out[0] + pass.plane + i;
      const int64_t pixel = (plane * plan.out[1] + pass.row + j) * plan.out[2];
      args.y = call.pooled.y + pixel * channels;
      args.index = call.pooled.index + pixel * channels;
      isa.pool_row(args);
    }
  }
}

}  // namespace

PoolPlan::PoolPlan(const ConvGeometry& geometry, const PoolGeometry& pool_geometry,
                   const std::array<int, 3>& axes, const IsaKernels& isa)
    : window(in_order(pool_geometry.window, axes)),
      out(in_order(pool_geometry.out, axes)),
      chunk_rows(rows_per_pass(window, out, geometry.out_channels)),
      conv(pooled_spec(geometry, window, out, chunk_rows), isa) {
  const int64_t plane_floats = window[0] * conv.spec.output_stride[0] * conv.spec.output_channels;
  if (chunk_rows == out[1]) {
    const auto float_bytes = static_cast<int64_t>(sizeof(float));
    chunk_planes = std::clamp<int64_t>(kRowsBytes / float_bytes / plane_floats, 1,
                                       conv.block_rows / window[0]);
  }
  rows_floats = plane_floats * chunk_planes;
}

void forward_pool(const PoolPlan& plan, const IsaKernels& isa, const PoolCall& call,
                  std::byte* scratch, Part part) {
  float* conv_rows = Scratch(scratch).take(plan.rows_floats);
  for_each_block(plan.conv, part, [&](const Block& block) {
    const int64_t end = (block.row + block.rows) / plan.window[0];
    for (int64_t plane = block.row / plan.window[0]; plane < end; plane += plan.chunk_planes) {
      for (int64_t row = 0; row < plan.out[1]; row += plan.chunk_rows) {
        const Pass pass{block.sample,
                        plane,
                        std::min(plan.chunk_planes, end - plane),
                        row,
                        std::min(plan.chunk_rows, plan.out[1] - row),
                        conv_rows};
        for (const Phase& phase : plan.conv.phases) {
          convolve_phase(plan, isa, call, pass, phase);
        }
        pool(plan, isa, call, pass);
      }
    }
  });
}

}  // namespace pando::kernels::direct
