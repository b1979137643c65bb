// SPDX-License-Identifier: MIT
#include "pando/kernels/winograd/block.h"

namespace pando::kernels::winograd {
namespace {

Planes from_tile(const Planes& planes, int64_t tile) {
  return {planes.data + tile * planes.stride, planes.plane, planes.stride};
}

// Row j of the two rows of pixels that a row of tiles covers; null below the last row of the
// output.
template <typename Float>
Float* output_row(const TilePlan& plan, const Run& run, Float* plane, int64_t j) {
  const TileSpec& spec = plan.spec;
  const int64_t row = 2 * run.row + j;
  if (row >= spec.output[0]) return nullptr;
  const int64_t pixel = (run.sample * spec.output[0] + row) * spec.output[1] + 2 * run.first;
  return plane + pixel * spec.output_channels;
}

}  // namespace

int64_t transform_source(const TilePlan& plan, const Block& block, const float* source,
                         const Planes& planes) {
  const TileSpec& spec = plan.spec;
  InputArgs args;
  args.pixels = spec.source[1];
  args.channels = spec.source_channels;
  int64_t tile = 0;
  for (int64_t unit = block.first; unit < block.end; ++unit) {
    const Run run = block.grid.run(unit);
    for (int64_t j = 0; j < 4; ++j) {
      const int64_t row = 2 * run.row + j - spec.pad_low[0];
      const bool inside = row >= 0 && row < spec.source[0];
      const int64_t pixel = (run.sample * spec.source[0] + row) * spec.source[1];
      args.row[j] = inside ? source + pixel * spec.source_channels : nullptr;
    }
    args.first = 2 * run.first - spec.pad_low[1];
    args.tiles = run.tiles;
    args.planes = from_tile(planes, tile);
    plan.isa.winograd.input(args);
    tile += run.tiles;
  }
  return tile;
}

int64_t transform_output_grad(const TilePlan& plan, const Block& block, const float* dy,
                              const Planes& planes) {
  OutputGradArgs args;
  args.channels = plan.spec.output_channels;
  int64_t tile = 0;
  for (int64_t unit = block.first; unit < block.end; ++unit) {
    const Run run = block.grid.run(unit);
    for (int64_t j = 0; j < 2; ++j) args.row[j] = output_row(plan, run, dy, j);
    args.pixels = plan.spec.output[1] - 2 * run.first;
    args.tiles = run.tiles;
    args.planes = from_tile(planes, tile);
    plan.isa.winograd.output_grad(args);
    tile += run.tiles;
  }
  return tile;
}

void multiply(const TilePlan& plan, const Product& product) {
  direct::PanelArgs args;
  args.row_offset = plan.tile_offset.data();
  args.rows = product.tiles;
  args.k_offset = plan.channel_offset.data();
  args.k_count = plan.spec.source_channels;
  args.y_stride = product.product.stride;
  args.last_lanes = plan.lanes;
  for (int64_t plane = 0; plane < kPlanes; ++plane) {
    args.w = product.packed + plane * plan.kernel_plane();
    args.x = product.source.data + plane * product.source.plane;
    for (const direct::Column& column : plan.columns) {
      args.y = product.product.data + plane * product.product.plane + column.first;
      args.w_stride = plan.width(column);
      args.fetch_count = args.k_count * args.w_stride;
      args.fetch = args.w + args.fetch_count;
      plan.isa.panel[column.vectors - 1](args);
      args.w = args.fetch;
    }
  }
}

void transform_product(const TilePlan& plan, const Block& block, const Planes& product,
                       const Output& output) {
  OutputArgs args;
  args.channels = plan.spec.output_channels;
  args.bias = output.epilogue.bias;
  args.activation = output.epilogue.activation;
  args.alpha = output.epilogue.alpha;
  int64_t tile = 0;
  for (int64_t unit = block.first; unit < block.end; ++unit) {
    const Run run = block.grid.run(unit);
    args.planes = from_tile(product, tile);
    args.tiles = run.tiles;
    if (output.index != nullptr) {
      const int64_t line = run.sample * block.grid.rows + run.row;
      const int64_t at = (line * block.grid.columns + run.first) * args.channels;
      args.row[0] = output.y + at;
      args.index = output.index + at;
      plan.isa.winograd.output_pool(args);
    } else {
      for (int64_t j = 0; j < 2; ++j) {
        args.row[j] = output_row(plan, run, output.y, j);
        if (output.epilogue.residual == nullptr) continue;
        args.residual[j] = output_row(plan, run, output.epilogue.residual, j);
      }
      args.pixels = plan.spec.output[1] - 2 * run.first;
      plan.isa.winograd.output(args);
    }
    tile += run.tiles;
  }
}

}  // namespace pando::kernels::winograd
