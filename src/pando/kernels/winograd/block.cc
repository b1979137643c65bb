// SPDX-License-Identifier: MIT
#include "pando/kernels/winograd/block.h"

#include <algorithm>

namespace pando::kernels::winograd {
namespace {

Planes from_tile(const Planes& planes, int64_t tile) {
  return {planes.data + tile * planes.stride, planes.plane, planes.stride};
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
    for (int64_t j = 0; j < plan.transforms.size; ++j) {
      const int64_t row = plan.transforms.tile * run.row + j - spec.pad_low[0];
      const bool inside = row >= 0 && row < spec.source[0];
      const int64_t pixel = (run.sample * spec.source[0] + row) * spec.source[1];
      args.row[j] = inside ? source + pixel * spec.source_channels : nullptr;
    }
    args.first = plan.transforms.tile * run.first - spec.pad_low[1];
    args.tiles = run.tiles;
    args.planes = from_tile(planes, tile);
    plan.transforms.input(args);
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
    for (int64_t j = 0; j < plan.transforms.tile; ++j) {
      args.row[j] = block.grid.cell_row(run, dy, j, args.channels);
    }
    args.pixels = block.grid.cells_left(run);
    args.tiles = run.tiles;
    args.planes = from_tile(planes, tile);
    plan.transforms.output_grad(args);
    tile += run.tiles;
  }
  return tile;
}

void add_output_grad(const TilePlan& plan, const Block& block, const float* dy, float* sums) {
  direct::RowsArgs rows;
  rows.stride = rows.channels = plan.spec.output_channels;
  rows.y = sums;
  for (int64_t unit = block.first; unit < block.end; ++unit) {
    const Run run = block.grid.run(unit);
    rows.rows = std::min(block.grid.edge * run.tiles, block.grid.cells_left(run));
    for (int64_t i = 0; i < block.grid.edge; ++i) {
      rows.x = block.grid.cell_row(run, dy, i, rows.channels);
      if (rows.x != nullptr) plan.isa.add_rows(rows);
    }
  }
}

namespace {

// A column of one vector.
void multiply_narrow(const TilePlan& plan, const direct::PanelArgs& panel, int64_t x_stride) {
  ProductArgs args;
  args.x = panel.x;
  args.x_stride = x_stride;
  args.rows = panel.rows;
  args.k_count = panel.k_count;
  args.w = panel.w;
  args.w_stride = panel.w_stride;
  args.y = panel.y;
  args.y_stride = panel.y_stride;
  plan.isa.products.narrow(args);
}

}  // namespace

void multiply(const TilePlan& plan, const Product& product) {
  direct::PanelArgs args;
  args.row_offset = plan.tile_offset.data();
  args.rows = product.tiles;
  args.k_offset = plan.channel_offset.data();
  args.k_count = plan.spec.source_channels;
  args.y_stride = product.product.stride;
  args.last_lanes = plan.lanes;
  for (int64_t plane = 0; plane < plan.transforms.planes; ++plane) {
    args.w = product.packed + plane * plan.kernel_plane();
    args.x = product.source.data + plane * product.source.plane;
    for (const direct::Column& column : plan.columns) {
      args.y = product.product.data + plane * product.product.plane + column.first;
      args.w_stride = plan.width(column);
      args.fetch_count = args.k_count * args.w_stride;
      args.fetch = args.w + args.fetch_count;
      if (column.vectors == 1 && plan.isa.products.narrow != nullptr) {
        multiply_narrow(plan, args, product.source.stride);
      } else {
        plan.isa.panel[column.vectors - 1](args);
      }
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
    args.pixels = block.grid.cells_left(run);
    for (int64_t i = 0; i < block.grid.edge; ++i) {
      args.row[i] = block.grid.cell_row(run, output.y, i, args.channels);
      if (output.epilogue.residual == nullptr) continue;
      args.residual[i] = block.grid.cell_row(run, output.epilogue.residual, i, args.channels);
    }
    if (output.index != nullptr) {
      args.index = block.grid.cell_row(run, output.index, 0, args.channels);
      plan.transforms.output_pool(args);
    } else {
      plan.transforms.output(args);
    }
    tile += run.tiles;
  }
}

}  // namespace pando::kernels::winograd
