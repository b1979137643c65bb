// The filter gradient from the gradient of max-pooled results: for each output channel, the sum of
// the windows of x that gave its maxima, each multiplied by the gradient there. Processes a few
// pixels at a time, so that a part of the sum stays in registers while their windows are added.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/isa_kernels.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/pooled_conv.h"

namespace pando::kernels {
namespace {

using fast::Floats;
using fast::Inside;
using fast::kWide;
using fast::PooledConv;
using fast::PooledGradient;
using fast::Range;
using fast::ScratchCutter;
using fast::WideFloats;

// The number of pixels of a tile: the parts of their windows that a block reads stay in a
// first-level cache while all channels use them.
int64_t tile_pixels(const PooledConv& shape) {
  constexpr int64_t kFloats = 4096;
  const int64_t each = shape.pool.positions() * std::min(shape.run, 4 * kWide);
  return std::clamp<int64_t>(kFloats / each, 8, 64);
}

// A run of floats of a window's row: its index in the window, and its index in x relative to the
// window's first element.
struct Run {
  int64_t window;
  int64_t x;
  int64_t count;
};
constexpr int64_t kWhole = -1;

struct FilterGradWork {
  FilterGradWork(const PooledConv& shape, ScratchCutter cutter)
      : sums(cutter.floats(shape.conv.out_channels * shape.window_floats)),
        bias(cutter.floats(shape.conv.out_channels)),
        factors(cutter.floats(tile_pixels(shape) * shape.conv.out_channels)),
        offsets(reinterpret_cast<int32_t*>(
            cutter.floats(tile_pixels(shape) * shape.conv.out_channels))),
        runs(reinterpret_cast<Run*>(
            cutter.bytes(static_cast<size_t>(shape.pool.positions() * shape.rows) * sizeof(Run)))),
        run_counts(reinterpret_cast<int64_t*>(
            cutter.bytes(static_cast<size_t>(shape.pool.positions()) * sizeof(int64_t)))),
        bytes(cutter.used()) {}
  float* sums;  // [out channel][window]
  float* bias;
  float* factors;    // [pixel of the tile][out channel]
  int32_t* offsets;  // where the windows start in x, in the same order
  // For a pixel at the edge, by position: the runs inside the input of windows that the edge cuts.
  Run* runs;
  int64_t* run_counts;  // kWhole: the window is not cut
  size_t bytes;
};

struct Tile {
  const float* x;  // of the sample
  int64_t first;   // its first pixel within the sample
  int64_t at;      // index of that pixel's first element in the pooled tensor of all samples
  int64_t count;
};

// Where a block of the sums begins: an output channel, a row of its window, and a float of the row.
struct BlockStart {
  int64_t o;
  int64_t first;
  int64_t begin;
};

template <typename Vector, int block_rows, int vectors>
PANDO_INLINE void sum_block(const PooledConv& s, const FilterGradWork& work, const Tile& tile,
                            const BlockStart& start) {
  const auto [o, first, begin] = start;
  constexpr int64_t kFloats = sizeof(Vector) / sizeof(float);
  Vector sums[block_rows][vectors];
  float* to = work.sums + o * s.window_floats + first * s.run + begin;
  for (int r = 0; r < block_rows; ++r) {
    for (int v = 0; v < vectors; ++v) fast::load(to + r * s.run + v * kFloats, sums[r][v]);
  }
  const int64_t channels = s.conv.out_channels;
  const float* rows[block_rows];
  for (int r = 0; r < block_rows; ++r) {
    rows[r] = tile.x + begin + s.row_offsets[static_cast<size_t>(first + r)];
  }
  const float* factor = work.factors + o;
  const int32_t* offset = work.offsets + o;
  for (const float* end = factor + tile.count * channels; factor != end;
       factor += channels, offset += channels) {
    const float times = *factor;
    const int64_t at = *offset;
    for (int r = 0; r < block_rows; ++r) {
      for (int v = 0; v < vectors; ++v) {
        Vector values;
        fast::load(rows[r] + at + v * kFloats, values);
        sums[r][v] += times * values;
      }
    }
  }
  for (int r = 0; r < block_rows; ++r) {
    for (int v = 0; v < vectors; ++v) fast::store(to + r * s.run + v * kFloats, sums[r][v]);
  }
}

template <typename Vector, int block_rows, int vectors>
PANDO_INLINE void sum_blocks(const PooledConv& s, const FilterGradWork& work, const Tile& tile) {
  constexpr int64_t kFloats = vectors * static_cast<int64_t>(sizeof(Vector) / sizeof(float));
  for (int64_t row = 0; row < s.rows; row += block_rows) {
    for (int64_t begin = 0; begin < s.run; begin += kFloats) {
      for (int64_t o = 0; o < s.conv.out_channels; ++o) {
        sum_block<Vector, block_rows, vectors>(s, work, tile, {o, row, begin});
      }
    }
  }
}

// Adds runs whose length is not a multiple of a vector.
PANDO_INLINE void sum_runs(const PooledConv& s, const FilterGradWork& work, const Tile& tile) {
  for (int64_t i = 0; i < tile.count * s.conv.out_channels; ++i) {
    float* to = work.sums + i % s.conv.out_channels * s.window_floats;
    for (int64_t row = 0; row < s.rows; ++row) {
      fast::add_scaled(to + row * s.run,
                       tile.x + work.offsets[i] + s.row_offsets[static_cast<size_t>(row)],
                       work.factors[i], s.run);
    }
  }
}

// Finds the runs of all positions of a pixel at the edge.
PANDO_INLINE void cut_windows(const PooledConv& s, const FilterGradWork& work,
                              const PooledConv::Extents& pixel) {
  for (int64_t i = 0; i < s.pool.positions(); ++i) {
    const Inside part = s.inside(pixel, s.positions[static_cast<size_t>(i)], {0, s.conv.in[0]});
    work.run_counts[i] = kWhole;
    if (s.whole(part)) continue;
    Run* run = work.runs + i * s.rows;
    for (int64_t a = part.a.begin; a < part.a.end && part.l.size() > 0; ++a) {
      for (int64_t b = part.b.begin; b < part.b.end; ++b) {
        *run++ = {(a * s.conv.filter[1] + b) * s.run + part.l.begin,
                  a * s.plane_floats + b * s.row_floats + part.l.begin, part.l.size()};
      }
    }
    work.run_counts[i] = run - (work.runs + i * s.rows);
  }
}

// The data of one pixel of a tile, by output channel.
struct ConvPixelChannels {
  const uint8_t* index;
  float* factors;
  int32_t* offsets;
};

// Windows that the edge cuts are added directly and are not put into the tile.
PANDO_INLINE void take_edge_pixel(const PooledConv& s, const FilterGradWork& work, const float* x,
                                  const PooledConv::Extents& pixel,
                                  const ConvPixelChannels& channels) {
  const auto [index, factors, offsets] = channels;
  const auto first = static_cast<int32_t>(s.first_element(pixel));
  cut_windows(s, work, pixel);
  for (int64_t o = 0; o < s.conv.out_channels; ++o) {
    offsets[o] = first + s.offsets[index[o]];
    const int64_t count = work.run_counts[index[o]];
    if (count == kWhole) continue;
    const Run* runs = work.runs + index[o] * s.rows;
    for (int64_t i = 0; i < count; ++i) {
      fast::add_scaled(work.sums + o * s.window_floats + runs[i].window, x + offsets[o] + runs[i].x,
                       factors[o], runs[i].count);
    }
    factors[o] = 0;
    offsets[o] = 0;
  }
}

PANDO_INLINE void take_pixels(const PooledConv& s, const PooledGradient& from,
                              const FilterGradWork& work, const Tile& tile) {
  const int64_t channels = s.conv.out_channels;
  fast::PixelWalk walk(s.pool.out, tile.first);
  for (int64_t t = 0; t < tile.count; ++t, walk.next()) {
    float* factors = work.factors + t * channels;
    int32_t* offsets = work.offsets + t * channels;
    const uint8_t* index = from.index + tile.at + t * channels;
    fast::take_factors(from, tile.at + t * channels, channels, factors);
    for (int64_t o = 0; o < channels; ++o) work.bias[o] += factors[o];
    if (!s.all_inside(walk.at)) {
      take_edge_pixel(s, work, tile.x, walk.at, {index, factors, offsets});
      continue;
    }
    const auto first = static_cast<int32_t>(s.first_element(walk.at));
    const int32_t* table = s.offsets.data();
    for (int64_t o = 0; o < channels; ++o) offsets[o] = first + table[index[o]];
  }
}

PANDO_MULTIVERSION void add_tile(const PooledConv& s, const PooledGradient& from,
                                 const FilterGradWork& work, const Tile& tile) {
  take_pixels(s, from, work, tile);
  if (!s.fits) return;
  if (s.run % (4 * kWide) == 0) return sum_blocks<WideFloats, 1, 4>(s, work, tile);
  if (s.run % (3 * kWide) == 0) return sum_blocks<WideFloats, 1, 3>(s, work, tile);
  if (s.run % (2 * kWide) == 0 && s.rows % 4 == 0) {
    return sum_blocks<WideFloats, 4, 2>(s, work, tile);
  }
  if (s.run % (2 * kWide) == 0 && s.rows % 2 == 0) {
    return sum_blocks<WideFloats, 2, 2>(s, work, tile);
  }
  if (s.run % kWide == 0 && s.rows % 4 == 0) return sum_blocks<WideFloats, 4, 1>(s, work, tile);
  if (s.run % kWide == 0) return sum_blocks<WideFloats, 1, 1>(s, work, tile);
  if (s.run % fast::kLanes == 0 && s.rows % 4 == 0) return sum_blocks<Floats, 4, 1>(s, work, tile);
  sum_runs(s, work, tile);
}

// Processes the share of a part: a range of the pooled pixels of all samples.
void add_pixels(const PooledConv& s, const PooledGradient& from, const float* x,
                const FilterGradWork& work, Range pixels) {
  const int64_t each = s.pool.out_pixels();
  const int64_t most = tile_pixels(s);
  for (int64_t pixel = pixels.begin; pixel < pixels.end;) {
    const int64_t sample = pixel / each;
    const int64_t end = std::min({pixel + most, (sample + 1) * each, pixels.end});
    add_tile(s, from, work,
             {.x = x + sample * s.conv.in_pixels() * s.conv.in_channels,
              .first = pixel - sample * each,
              .at = pixel * s.conv.out_channels,
              .count = end - pixel});
    pixel = end;
  }
}

}  // namespace

KernelOffer fast_conv_pool_filter_grad(const ir::Node& node) {
  const PooledConv shape(node);
  if (std::string why = shape.refusal(); !why.empty()) return refuse(std::move(why));
  const NodeActivation activation = node_activation(node);
  const bool bias = node.num_outputs() == 2;
  const auto transpose = direct::choose_isa().transpose;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const int64_t channels = shape.conv.out_channels;
    const FilterGradWork work(shape, ScratchCutter(args.scratch));
    std::fill(work.sums, work.sums + channels * shape.window_floats, 0.0f);
    std::fill(work.bias, work.bias + channels, 0.0f);
    add_pixels(shape,
               {args.in(1), args.in_as<uint8_t>(2), args.num_inputs > 3 ? args.in(3) : nullptr,
                activation.slope(0)},
               args.in(0), work,
               fast::share(step.part, shape.conv.batch * shape.pool.out_pixels()));
    transpose(
        {work.sums, shape.window_floats, channels, shape.window_floats, args.out(0), channels});
    if (bias) std::copy(work.bias, work.bias + channels, args.out(1));
  };
  return offer_function(
      "fast", run, {.splits = true, .scratch_bytes = FilterGradWork(shape, ScratchCutter()).bytes});
}

}  // namespace pando::kernels
