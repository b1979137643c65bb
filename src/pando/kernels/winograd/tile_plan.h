// How one direction of a Winograd convolution is cut into tiles, blocks of tiles and columns.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pando/kernels/conv_geometry.h"
#include "pando/kernels/direct/gather_plan.h"
#include "pando/kernels/part.h"

namespace pando::kernels::winograd {

// Separates neighbouring planes by one extra cache line: planes of a round size would map to few
// sets of the cache.
constexpr int64_t kPlaneGap = 16;

// The numbers of a 3x3 convolution with stride 1.
struct TileSpec {
  int64_t batch = 1;
  int64_t source_channels = 1;
  int64_t output_channels = 1;
  int64_t source[2] = {1, 1};  // height, width
  int64_t output[2] = {1, 1};
  int64_t pad_low[2] = {0, 0};  // negative: the first source rows or columns are not read
};

TileSpec forward_tiles(const ConvGeometry& geometry);
TileSpec backward_input_tiles(const ConvGeometry& geometry);

// Neighbouring tiles of one row of tiles: the unit of work.
struct Run {
  int64_t sample = 0;
  int64_t row = 0;
  int64_t first = 0;
  int64_t tiles = 0;
};

// The tiles that cover a plane of cells: of outputs, or of windows of 2x2 outputs.
struct Grid {
  // `edge` cells are an edge of a tile.
  Grid(int64_t samples, const int64_t (&extents)[2], int64_t edge, int64_t longest_run);

  Run run(int64_t unit) const {
    const int64_t line = unit / runs;
    const int64_t first = unit % runs * run_tiles;
    return {line / rows, line % rows, first, std::min(run_tiles, columns - first)};
  }
  int64_t units() const { return batch * rows * runs; }
  // Row i of the cells of a row of tiles, from its first tile on; null below the last row.
  template <typename T>
  T* cell_row(const Run& run, T* cells, int64_t i, int64_t channels) const {
    const int64_t row = edge * run.row + i;
    if (row >= cell_rows) return nullptr;
    const int64_t cell = (run.sample * cell_rows + row) * cell_columns + edge * run.first;
    return cells + cell * channels;
  }
  int64_t cells_left(const Run& run) const { return cell_columns - edge * run.first; }  // in a row

  int64_t batch;
  int64_t cell_rows, cell_columns;
  int64_t edge;
  int64_t rows, columns;  // of tiles
  int64_t run_tiles;      // tiles of each run of a row except the last
  int64_t runs;           // runs of a row
};

struct TilePlan {
  // Requires: `tile` is 2 or 4.
  TilePlan(const TileSpec& tile_spec, int tile, const direct::IsaKernels& kernels);

  int64_t width(const direct::Column& column) const { return column.vectors * int64_t{lanes}; }
  int64_t channels(const direct::Column& column) const {
    return (column.vectors - 1) * int64_t{lanes} + column.last_lanes;
  }
  // The floats of one plane of the packed filter, [column][source channel][width], and a gap.
  int64_t kernel_plane() const { return spec.source_channels * output_stride + kPlaneGap; }

  TileSpec spec;
  const direct::IsaKernels& isa;
  const Transforms& transforms;
  int lanes;
  int64_t source_stride;  // channels padded to whole vectors
  int64_t output_stride;
  int64_t block_tiles;  // the most tiles that are transformed together
  Grid tiles;
  Grid pool_tiles;  // over windows of 2x2 outputs, which are tiles of 2x2
  std::vector<direct::Column> columns;
  std::vector<int32_t> channel_offset;  // 0, 1, 2, ...
  std::vector<int32_t> tile_offset;     // of each tile of a block in a plane of the source
};

// Calls function(first unit, end unit) for blocks of at most plan.block_tiles tiles.
template <typename Function>
void for_each_block(const TilePlan& plan, const Grid& grid, Part part, Function&& function) {
  const int64_t end = part.end(grid.units());
  for (int64_t unit = part.begin(grid.units()); unit < end;) {
    int64_t next = unit;
    int64_t tiles = 0;
    for (; next < end; ++next) {
      const int64_t more = grid.run(next).tiles;
      if (tiles + more > plan.block_tiles) break;
      tiles += more;
    }
    function(unit, next);
    unit = next;
  }
}

}  // namespace pando::kernels::winograd
