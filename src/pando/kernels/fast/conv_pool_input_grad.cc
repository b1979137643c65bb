// The input gradient of a convolution from the gradient of its max-pooled result: each pooled
// element adds the filter of its channel, multiplied by the gradient there, to the window that gave
// the maximum. The channels of a pixel whose maxima are at the same position share a window, which
// stays in registers while their filters are added.
// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/isa_kernels.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/pooled_conv.h"

namespace pando::kernels {
namespace {

using fast::Inside;
using fast::kWide;
using fast::PooledConv;
using fast::PooledGradient;
using fast::Range;
using fast::ScratchCutter;
using fast::WideFloats;

struct InputGradWork {
  InputGradWork(const PooledConv& shape, ScratchCutter cutter)
      : factors(cutter.floats(shape.conv.out_channels)),
        sorted(cutter.floats(shape.conv.out_channels)),
        kernels(reinterpret_cast<int32_t*>(cutter.floats(shape.conv.out_channels))),
        ends(reinterpret_cast<int32_t*>(cutter.floats(shape.pool.positions() + 1))),
        bytes(cutter.used()) {}
  float* factors;    // of the channels of a pixel
  float* sorted;     // the same, sorted by position
  int32_t* kernels;  // where the filters of the sorted channels start
  int32_t* ends;     // the end of each position's range in the sorted channels
  size_t bytes;
};

// Channels that add to one window.
struct Adders {
  const float* filter;  // [out channel][window]
  const float* factors;
  const int32_t* kernels;
  int64_t count;
};

template <int block_rows, int vectors>
PANDO_INLINE void add_block(const PooledConv& s, const Adders& adders, float* window, int64_t first,
                            int64_t begin) {
  WideFloats sums[block_rows][vectors];
  for (int r = 0; r < block_rows; ++r) {
    const float* row = window + s.row_offsets[static_cast<size_t>(first + r)] + begin;
    for (int v = 0; v < vectors; ++v) fast::load(row + v * kWide, sums[r][v]);
  }
  const float* filter = adders.filter + first * s.run + begin;
  for (int64_t i = 0; i < adders.count; ++i) {
    const float factor = adders.factors[i];
    const float* from = filter + adders.kernels[i];
    for (int r = 0; r < block_rows; ++r) {
      for (int v = 0; v < vectors; ++v) {
        WideFloats values;
        fast::load(from + r * s.run + v * kWide, values);
        sums[r][v] += factor * values;
      }
    }
  }
  for (int r = 0; r < block_rows; ++r) {
    float* row = window + s.row_offsets[static_cast<size_t>(first + r)] + begin;
    for (int v = 0; v < vectors; ++v) fast::store(row + v * kWide, sums[r][v]);
  }
}

template <int block_rows, int vectors>
PANDO_INLINE void add_blocks(const PooledConv& s, const Adders& adders, float* window) {
  for (int64_t row = 0; row < s.rows; row += block_rows) {
    for (int64_t begin = 0; begin < s.run; begin += vectors * kWide) {
      add_block<block_rows, vectors>(s, adders, window, row, begin);
    }
  }
}

// Adds to the part of a window that lies inside the input.
PANDO_INLINE void add_partly(const PooledConv& s, const Adders& adders, const Inside& part,
                             float* window) {
  for (int64_t a = part.a.begin; a < part.a.end; ++a) {
    for (int64_t b = part.b.begin; b < part.b.end; ++b) {
      const int64_t row = a * s.conv.filter[1] + b;
      float* to = window + s.row_offsets[static_cast<size_t>(row)];
      int64_t l = part.l.begin;
      for (; l + kWide <= part.l.end; l += kWide) add_block<1, 1>(s, adders, window, row, l);
      const float* filter = adders.filter + row * s.run;
      for (int64_t i = 0; i < adders.count && l < part.l.end; ++i) {
        fast::add_scaled(to + l, filter + adders.kernels[i] + l, adders.factors[i], part.l.end - l);
      }
    }
  }
}

// Adds to a window that lies completely inside the input.
PANDO_INLINE void add_whole(const PooledConv& s, const Adders& adders, float* window) {
  if (s.run == 2 * kWide && s.rows == 4) return add_blocks<4, 2>(s, adders, window);
  if (s.run % (4 * kWide) == 0) return add_blocks<1, 4>(s, adders, window);
  if (s.run % (3 * kWide) == 0) return add_blocks<1, 3>(s, adders, window);
  if (s.run % (2 * kWide) == 0 && s.rows % 2 == 0) return add_blocks<2, 2>(s, adders, window);
  if (s.run % kWide == 0 && s.rows % 4 == 0) return add_blocks<4, 1>(s, adders, window);
  add_partly(s, adders, {{0, s.conv.filter[0]}, {0, s.conv.filter[1]}, {0, s.run}}, window);
}

// Whether all windows of a pooled pixel lie inside the planes `depth` of the input.
PANDO_INLINE bool all_inside(const PooledConv& s, const PooledConv::Extents& pixel, Range depth) {
  const int64_t first = pixel[0] * s.pool.window[0] - s.conv.pad_low[0];
  const int64_t last = first + s.pool.window[0] - 1 + s.conv.filter[0];
  return first >= depth.begin && last <= depth.end && s.all_inside(pixel);
}

// Sorts the channels of a pixel by position.
PANDO_INLINE void sort_channels(const PooledConv& s, const uint8_t* index,
                                const InputGradWork& work) {
  const int64_t positions = s.pool.positions();
  std::fill(work.ends, work.ends + positions + 1, 0);
  for (int64_t o = 0; o < s.conv.out_channels; ++o) ++work.ends[index[o] + 1];
  for (int64_t i = 0; i < positions; ++i) work.ends[i + 1] += work.ends[i];
  for (int64_t o = 0; o < s.conv.out_channels; ++o) {
    const int32_t to = work.ends[index[o]]++;  // after the loop, the end of its position
    work.sorted[to] = work.factors[o];
    work.kernels[to] = static_cast<int32_t>(o * s.window_floats);
  }
}

// Planes of one sample.
struct Planes {
  float* dx;
  Range depth;   // of dx
  Range pooled;  // pooled planes that reach them
};

PANDO_MULTIVERSION void add_planes(const PooledConv& s, const PooledGradient& from,
                                   const float* filter, const InputGradWork& work,
                                   const Planes& planes) {
  const auto [dx, depth, pooled] = planes;
  const int64_t plane = s.pool.out[1] * s.pool.out[2];
  const int64_t channels = s.conv.out_channels;
  std::fill(dx + depth.begin * s.plane_floats, dx + depth.end * s.plane_floats, 0.0f);
  fast::PixelWalk walk(s.pool.out, pooled.begin * plane);
  for (int64_t pixel = pooled.begin * plane; pixel < pooled.end * plane; ++pixel, walk.next()) {
    fast::take_factors(from, pixel * channels, channels, work.factors);
    sort_channels(s, from.index + pixel * channels, work);
    const bool inside = all_inside(s, walk.at, depth);
    float* first = dx + s.first_element(walk.at);
    int32_t begin = 0;
    for (size_t position = 0; position < s.positions.size(); ++position) {
      const int32_t end = work.ends[position];
      if (end == begin) continue;
      const Adders adders = {filter, work.sorted + begin, work.kernels + begin, end - begin};
      float* window = first + s.offsets[position];
      if (inside) {
        add_whole(s, adders, window);
      } else {
        const Inside part = s.inside(walk.at, s.positions[position], depth);
        if (s.whole(part)) {
          add_whole(s, adders, window);
        } else {
          add_partly(s, adders, part, window);
        }
      }
      begin = end;
    }
  }
}

// The pooled planes whose windows reach the planes `depth` of the input.
Range pooled_planes(const PooledConv& s, Range depth) {
  const int64_t first = depth.begin + s.conv.pad_low[0] - s.conv.filter[0] + 1;
  const int64_t last = depth.end - 1 + s.conv.pad_low[0];
  const int64_t window = s.pool.window[0];
  return {std::max<int64_t>(first, 0) / window, std::min(last / window + 1, s.pool.out[0])};
}

fast::PooledGradient at_sample(const PooledGradient& from, int64_t offset) {
  return {from.dy + offset, from.index + offset, from.y == nullptr ? nullptr : from.y + offset,
          from.below};
}

// Packs the filter from [window][out channel] to [out channel][window].
Packing kernel_packing(const PooledConv& shape) {
  const auto transpose = direct::choose_isa().transpose;
  const int64_t channels = shape.conv.out_channels;
  const int64_t window = shape.window_floats;
  const auto pack = [=](const KernelArgs& args, const StepArgs& step) {
    const Range rows = fast::share(step.part, window);
    transpose({args.in(0) + rows.begin * channels, channels, rows.size(), channels,
               args.out() + rows.begin, window});
  };
  return {.input = 2,
          .layout = {"windows-by-channel", window * channels},
          .packer = std::make_shared<FunctionKernel>("fast:pack", pack, fast::kSplits)};
}

}  // namespace

KernelOffer fast_conv_pool_input_grad(const ir::Node& node) {
  const PooledConv shape(node);
  if (std::string why = shape.refusal(); !why.empty()) return refuse(std::move(why));
  if (shape.window_floats * shape.conv.out_channels > INT32_MAX) {
    return refuse("the filter has too many elements");
  }
  const NodeActivation activation = node_activation(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const InputGradWork work(shape, ScratchCutter(args.scratch));
    const PooledGradient from = {args.in(0), args.in_as<uint8_t>(1),
                                 args.num_inputs > 3 ? args.in(3) : nullptr, activation.slope(0)};
    const int64_t each = shape.conv.in[0];
    const Range planes = fast::share(step.part, shape.conv.batch * each);
    for (int64_t plane = planes.begin; plane < planes.end;) {
      const int64_t sample = plane / each;
      const int64_t end = std::min((sample + 1) * each, planes.end);
      const Range depth{plane - sample * each, end - sample * each};
      add_planes(
          shape, at_sample(from, sample * shape.pool.out_pixels() * shape.conv.out_channels),
          args.in(2), work,
          {args.out() + sample * each * shape.plane_floats, depth, pooled_planes(shape, depth)});
      plane = end;
    }
  };
  KernelOffer offer = offer_function(
      "fast", run, {.splits = true, .scratch_bytes = InputGradWork(shape, ScratchCutter()).bytes});
  offer.packings.push_back(kernel_packing(shape));
  return offer;
}

}  // namespace pando::kernels
