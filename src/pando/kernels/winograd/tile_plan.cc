// SPDX-License-Identifier: MIT
#include "pando/kernels/winograd/tile_plan.h"

#include <numeric>

#include "pando/kernels/divide_up.h"

namespace pando::kernels::winograd {
namespace {

// Size of a block's transformed source and product: half of a 512 KiB second-level cache; the rest
// is for the filter.
constexpr int64_t kBlockBytes = 256 * 1024;

// With fewer tiles, reading the filter again would cost too much; more so if the filter does not
// stay in the second-level cache. 49 tiles are an image of 14x14 pixels, with tiles of 4x4 of
// 28x28.
constexpr int64_t kFewestTiles = 16;
constexpr int64_t kFewestTilesOfLargeFilter = 49;
constexpr int64_t kLargeFilterBytes = 1 << 20;
// A filter that does not even stay in the third-level cache is read once for as many tiles as one
// plane of the source holds in the second-level cache.
constexpr int64_t kHugeFilterBytes = 4 << 20;
constexpr int64_t kSourcePlaneBytes = 256 * 1024;

int64_t fewest_tiles(const TilePlan& plan) {
  const int64_t filter_bytes =
      plan.transforms.planes * plan.kernel_plane() * int64_t{sizeof(float)};
  if (filter_bytes < kLargeFilterBytes) return kFewestTiles;
  if (filter_bytes <= kHugeFilterBytes) return kFewestTilesOfLargeFilter;
  return std::max(kSourcePlaneBytes / (plan.source_stride * int64_t{sizeof(float)}),
                  kFewestTilesOfLargeFilter);
}

int64_t tiles_per_block(const TilePlan& plan) {
  const int64_t tile = plan.transforms.tile;
  const int64_t tile_bytes =
      plan.transforms.planes * (plan.source_stride + plan.output_stride) * int64_t{sizeof(float)};
  const int64_t all =
      plan.spec.batch * divide_up(plan.spec.output[0], tile) * divide_up(plan.spec.output[1], tile);
  return std::min(std::max(kBlockBytes / tile_bytes, fewest_tiles(plan)), all);
}

}  // namespace

TileSpec forward_tiles(const ConvGeometry& g) {
  return {.batch = g.batch,
          .source_channels = g.in_channels,
          .output_channels = g.out_channels,
          .source = {g.in[1], g.in[2]},
          .output = {g.out[1], g.out[2]},
          .pad_low = {g.pad_low[1], g.pad_low[2]}};
}

TileSpec backward_input_tiles(const ConvGeometry& g) {
  return {.batch = g.batch,
          .source_channels = g.out_channels,
          .output_channels = g.in_channels,
          .source = {g.out[1], g.out[2]},
          .output = {g.in[1], g.in[2]},
          .pad_low = {2 - g.pad_low[1], 2 - g.pad_low[2]}};
}

Grid::Grid(int64_t samples, const int64_t (&extents)[2], int64_t edge_cells, int64_t longest_run)
    : batch(samples),
      cell_rows(extents[0]),
      cell_columns(extents[1]),
      edge(edge_cells),
      rows(divide_up(cell_rows, edge)),
      columns(divide_up(cell_columns, edge)),
      run_tiles(1),
      runs(divide_up(columns, longest_run)) {
  if (runs > 0) run_tiles = divide_up(columns, runs);
}

TilePlan::TilePlan(const TileSpec& tile_spec, int tile, const direct::IsaKernels& kernels)
    : spec(tile_spec),
      isa(kernels),
      transforms(tile == 2 ? isa.winograd2 : isa.winograd4),
      lanes(isa.lanes),
      source_stride(divide_up(spec.source_channels, lanes) * lanes),
      output_stride(divide_up(spec.output_channels, lanes) * lanes),
      block_tiles(tiles_per_block(*this)),
      tiles(spec.batch, spec.output, tile, block_tiles),
      pool_tiles(spec.batch, {spec.output[0] / 2, spec.output[1] / 2}, 1, block_tiles),
      columns(direct::cut_columns(spec.output_channels, isa)),
      channel_offset(static_cast<size_t>(spec.source_channels)),
      tile_offset(static_cast<size_t>(block_tiles)) {
  std::iota(channel_offset.begin(), channel_offset.end(), 0);
  for (size_t i = 0; i < tile_offset.size(); ++i) {
    tile_offset[i] = static_cast<int32_t>(static_cast<int64_t>(i) * source_stride);
  }
}

}  // namespace pando::kernels::winograd
