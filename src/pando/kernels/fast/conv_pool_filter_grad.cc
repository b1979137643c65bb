// The filter gradient from the gradient of max-pooled results: for each output channel, the sum of
// the windows of x that gave its maxima, each multiplied by the gradient there. Processes a few
// pixels at a time, so that a part of the sum stays in registers while their windows are added.
// Windows that the edge of the input cuts are read from a copy with zeros outside.
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

// Pixels whose windows are added together.
struct Tile {
  const float* x;              // what `offsets` count from
  const int64_t* row_offsets;  // where the rows of a window start, relative to the window
  float* factors;              // [pixel][out channel]
  int32_t* offsets;            // where the windows start in x, in the same order
  int64_t count;
};

struct FilterGradWork {
  FilterGradWork(const PooledConv& shape, ScratchCutter cutter)
      : sums(cutter.floats(shape.conv.out_channels * shape.window_floats)),
        bias(cutter.floats(shape.conv.out_channels)),
        fields(cutter.floats(tile_pixels(shape) * shape.field_floats())),
        inside(make_tile(shape, cutter, nullptr, shape.row_offsets.data())),
        edge(make_tile(shape, cutter, fields, shape.field_row_offsets.data())),
        bytes(cutter.used()) {}

  static Tile make_tile(const PooledConv& shape, ScratchCutter& cutter, const float* x,
                        const int64_t* row_offsets) {
    const int64_t numbers = tile_pixels(shape) * shape.conv.out_channels;
    float* const factors = cutter.floats(numbers);
    return {x, row_offsets, factors, reinterpret_cast<int32_t*>(cutter.floats(numbers)), 0};
  }

  float* sums;  // [out channel][window]
  float* bias;
  float* fields;  // of the pixels of `edge`
  Tile inside;    // pixels whose windows lie inside the input
  Tile edge;      // the others
  size_t bytes;
};

// Pixels of one sample.
struct Pixels {
  const float* x;  // of the sample
  int64_t first;   // within the sample
  int64_t at;      // index of the first one's first element in the pooled tensor of all samples
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
    rows[r] = tile.x + begin + tile.row_offsets[first + r];
  }
  const float* factor = tile.factors + o;
  const int32_t* offset = tile.offsets + o;
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
      fast::add_scaled(to + row * s.run, tile.x + tile.offsets[i] + tile.row_offsets[row],
                       tile.factors[i], s.run);
    }
  }
}

PANDO_INLINE void sum_windows(const PooledConv& s, const FilterGradWork& work, const Tile& tile) {
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

// Adds the tile's windows to the sums and empties it.
PANDO_MULTIVERSION void add_tile(const PooledConv& s, const FilterGradWork& work, Tile& tile) {
  sum_windows(s, work, tile);
  tile.count = 0;
}

// Copies `count` floats, or writes zeros where `from` is null.
PANDO_INLINE void copy_floats(const float* from, int64_t count, float* to) {
  using Four = float __attribute__((vector_size(16)));
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    Four values = {};
    if (from != nullptr) fast::load(from + i, values);
    fast::store(to + i, values);
  }
  for (; i < count; ++i) to[i] = from != nullptr ? from[i] : 0;
}

// Copies the field of a pixel, with zeros outside the input.
PANDO_INLINE void copy_field(const PooledConv& s, const float* x, const PooledConv::Extents& pixel,
                             float* to) {
  const Inside part = s.field_inside(pixel, {0, s.conv.in[0]});
  const int64_t first = s.first_element(pixel);
  for (int64_t a = 0; a < s.field[0]; ++a) {
    for (int64_t b = 0; b < s.field[1]; ++b, to += s.field_row) {
      if (a < part.a.begin || a >= part.a.end || b < part.b.begin || b >= part.b.end) {
        copy_floats(nullptr, s.field_row, to);
        continue;
      }
      const float* const row = x + (first + a * s.plane_floats + b * s.row_floats + part.l.begin);
      copy_floats(nullptr, part.l.begin, to);
      copy_floats(row, part.l.size(), to + part.l.begin);
      copy_floats(nullptr, s.field_row - part.l.end, to + part.l.end);
    }
  }
}

// Puts pixels into the tiles and adds tiles that are full.
PANDO_MULTIVERSION void take_pixels(const PooledConv& s, const PooledGradient& from,
                                    FilterGradWork& work, const Pixels& pixels) {
  const int64_t channels = s.conv.out_channels;
  fast::PixelWalk walk(s.pool.out, pixels.first);
  for (int64_t t = 0; t < pixels.count; ++t, walk.next()) {
    const bool inside = s.all_inside(walk.at);
    Tile& tile = inside ? work.inside : work.edge;
    float* const factors = tile.factors + tile.count * channels;
    int32_t* const offsets = tile.offsets + tile.count * channels;
    const int64_t at = pixels.at + t * channels;
    fast::take_factors(from, at, channels, factors);
    for (int64_t o = 0; o < channels; ++o) work.bias[o] += factors[o];
    int64_t first = s.first_element(walk.at);
    const int32_t* table = s.offsets.data();
    if (!inside) {
      first = tile.count * s.field_floats();
      table = s.field_offsets.data();
      copy_field(s, pixels.x, walk.at, work.fields + first);
    }
    const uint8_t* const index = from.index + at;
    for (int64_t o = 0; o < channels; ++o) {
      offsets[o] = static_cast<int32_t>(first) + table[index[o]];
    }
    if (++tile.count == tile_pixels(s)) add_tile(s, work, tile);
  }
}

// Processes the share of a part: a range of the pooled pixels of all samples.
void add_pixels(const PooledConv& s, const PooledGradient& from, const float* x,
                FilterGradWork& work, Range pixels) {
  const int64_t each = s.pool.out_pixels();
  for (int64_t pixel = pixels.begin; pixel < pixels.end;) {
    const int64_t sample = pixel / each;
    const int64_t end = std::min((sample + 1) * each, pixels.end);
    work.inside.x = x + sample * s.conv.in_pixels() * s.conv.in_channels;
    take_pixels(s, from, work,
                {.x = work.inside.x,
                 .first = pixel - sample * each,
                 .at = pixel * s.conv.out_channels,
                 .count = end - pixel});
    add_tile(s, work, work.inside);
    pixel = end;
  }
  add_tile(s, work, work.edge);
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
    FilterGradWork work(shape, ScratchCutter(args.scratch));
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
