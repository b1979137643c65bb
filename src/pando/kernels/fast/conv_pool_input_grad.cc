// The input gradient of a convolution from the gradient of its max-pooled result: each pooled
// element adds the filter of its channel, multiplied by the gradient there, to the window that gave
// the maximum. FieldSums keeps all windows of a pixel in registers; for other shapes, the channels
// of a pixel whose maxima are at the same position share a window, whose blocks stay in registers
// while their filters are added.
// SPDX-License-Identifier: MIT
#include <span>

#include "pando/kernels/direct/isa_kernels.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/field_sums.h"
#include "pando/kernels/fast/pooled_conv.h"

namespace pando::kernels {
namespace {

using fast::FieldSums;
using fast::Inside;
using fast::kWide;
using fast::PooledConv;
using fast::PooledGradient;
using fast::Range;
using fast::ScratchCutter;
using fast::WideFloats;
using fast::WindowRow;

// One channel at its window.
struct Adder {
  float factor;
  int32_t filter;  // where the filter of the channel starts
};

struct InputGradWork {
  InputGradWork(const PooledConv& shape, ScratchCutter cutter)
      : factors(cutter.floats(shape.conv.out_channels)),
        adders(reinterpret_cast<Adder*>(cutter.floats(2 * shape.conv.out_channels))),
        ends(reinterpret_cast<int32_t*>(cutter.floats(shape.pool.positions() + 1))),
        rows(reinterpret_cast<WindowRow*>(cutter.floats(2 * shape.rows))),
        bytes(cutter.used()) {}
  float* factors;   // of the channels of a pixel
  Adder* adders;    // sorted by position
  int32_t* ends;    // the end of each position's range in the adders
  WindowRow* rows;  // of a window that is cut
  size_t bytes;
};

// The part of a window that lies inside the planes: some of its rows, and a range of their floats.
struct WindowPart {
  const WindowRow* rows;
  int64_t num_rows;
  Range floats;
};

// Adds the filters of channels to their common window.
struct WindowSum {
  const float* filter;  // [out channel][window]
  std::span<const Adder> adders;
  float* window;

  template <int block_rows, int vectors>
  PANDO_INLINE void add_block(const WindowRow* rows, int64_t begin) const {
    WideFloats sums[block_rows][vectors];
    float* to[block_rows];
    const float* from[block_rows];
    for (int r = 0; r < block_rows; ++r) {
      to[r] = window + rows[r].in_x + begin;
      from[r] = filter + rows[r].in_filter + begin;
      for (int v = 0; v < vectors; ++v) fast::load(to[r] + v * kWide, sums[r][v]);
    }
    for (const Adder& adder : adders) {
      for (int r = 0; r < block_rows; ++r) {
        for (int v = 0; v < vectors; ++v) {
          WideFloats values;
          fast::load(from[r] + adder.filter + v * kWide, values);
          sums[r][v] += adder.factor * values;
        }
      }
    }
    for (int r = 0; r < block_rows; ++r) {
      for (int v = 0; v < vectors; ++v) fast::store(to[r] + v * kWide, sums[r][v]);
    }
  }

  // Eight vectors of sums hide the latency of additions.
  template <int vectors>
  PANDO_INLINE void add_columns(const WindowPart& part, int64_t begin) const {
    int64_t row = 0;
    if constexpr (vectors <= 2) {
      for (; row + 4 <= part.num_rows; row += 4) add_block<4, vectors>(part.rows + row, begin);
    }
    for (; row + 2 <= part.num_rows; row += 2) add_block<2, vectors>(part.rows + row, begin);
    for (; row < part.num_rows; ++row) add_block<1, vectors>(part.rows + row, begin);
  }

  PANDO_INLINE void add(const WindowPart& part) const {
    int64_t l = part.floats.begin;
    const int64_t end = part.floats.end;
    for (; l + 4 * kWide <= end; l += 4 * kWide) add_columns<4>(part, l);
    if (l + 3 * kWide <= end) {
      add_columns<3>(part, l);
      l += 3 * kWide;
    } else if (l + 2 * kWide <= end) {
      add_columns<2>(part, l);
      l += 2 * kWide;
    } else if (l + kWide <= end) {
      add_columns<1>(part, l);
      l += kWide;
    }
    if (l == end) return;
    for (int64_t r = 0; r < part.num_rows; ++r) {
      float* to = window + part.rows[r].in_x + l;
      const float* from = filter + part.rows[r].in_filter + l;
      for (const Adder& adder : adders) {
        fast::add_scaled(to, from + adder.filter, adder.factor, end - l);
      }
    }
  }
};

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
  int32_t filter = 0;
  for (int64_t o = 0; o < s.conv.out_channels; ++o) {
    const int32_t to = work.ends[index[o]]++;  // after the loop, the end of its position
    work.adders[to] = {work.factors[o], filter};
    filter += static_cast<int32_t>(s.window_floats);
  }
}

// Planes of one sample.
struct Planes {
  float* dx;
  Range depth;   // of dx
  Range pooled;  // pooled planes that reach them
};

// Lists the rows of a part in `rows`.
PANDO_INLINE WindowPart list_rows(const PooledConv& s, const Inside& part, WindowRow* rows) {
  int64_t count = 0;
  for (int64_t a = part.a.begin; a < part.a.end; ++a) {
    for (int64_t b = part.b.begin; b < part.b.end; ++b) {
      rows[count++] = s.window_rows[static_cast<size_t>(a * s.conv.filter[1] + b)];
    }
  }
  return {rows, count, part.l};
}

// A pooled pixel.
struct Pixel {
  PooledConv::Extents at;
  const uint8_t* index;  // of its channels
};

// Adds the filters of the channels of a pixel, sorted by position.
PANDO_INLINE void add_sorted(const PooledConv& s, const Pixel& pixel, const float* filter,
                             const InputGradWork& work, const Planes& planes) {
  sort_channels(s, pixel.index, work);
  const bool inside = all_inside(s, pixel.at, planes.depth);
  float* first = planes.dx + s.first_element(pixel.at);
  int32_t begin = 0;
  for (size_t position = 0; position < s.positions.size(); ++position) {
    const int32_t end = work.ends[position];
    if (end == begin) continue;
    WindowPart part = {s.window_rows.data(), s.rows, {0, s.run}};
    if (!inside) {
      part = list_rows(s, s.inside(pixel.at, s.positions[position], planes.depth), work.rows);
    }
    const std::span<const Adder> adders(work.adders + begin, work.adders + end);
    WindowSum{filter, adders, first + s.offsets[position]}.add(part);
    begin = end;
  }
}

PANDO_INLINE PooledGradient at_element(const PooledGradient& from, int64_t offset) {
  return {from.dy + offset, from.index + offset, from.y == nullptr ? nullptr : from.y + offset,
          from.below};
}

// Sets to zero the planes of dx that `plane` is the first pooled plane to reach, so that they are
// in the cache when its windows are added. The last pooled plane clears all planes that are left.
PANDO_INLINE void clear_planes(const PooledConv& s, const Planes& planes, int64_t plane) {
  const auto cleared_before = [&](int64_t pooled) {
    if (pooled == planes.pooled.begin) return planes.depth.begin;
    if (pooled == planes.pooled.end) return planes.depth.end;
    const int64_t reached = pooled * s.pool.window[0] - s.conv.pad_low[0] + s.conv.filter[0] - 1;
    return std::clamp(reached, planes.depth.begin, planes.depth.end);
  };
  std::fill(planes.dx + cleared_before(plane) * s.plane_floats,
            planes.dx + cleared_before(plane + 1) * s.plane_floats, 0.0f);
}

PANDO_MULTIVERSION void add_sorted_planes(const PooledConv& s, const PooledGradient& from,
                                          const float* filter, const InputGradWork& work,
                                          const Planes& planes) {
  const int64_t channels = s.conv.out_channels;
  const int64_t pixels = s.pool.out[1] * s.pool.out[2];
  for (int64_t plane = planes.pooled.begin; plane < planes.pooled.end; ++plane) {
    clear_planes(s, planes, plane);
    fast::PixelWalk walk(s.pool.out, plane * pixels);
    for (int64_t i = 0; i < pixels; ++i, walk.next()) {
      const int64_t at = (plane * pixels + i) * channels;
      fast::take_factors(from, at, channels, work.factors);
      add_sorted(s, {walk.at, from.index + at}, filter, work, planes);
    }
  }
}

// The filter of a group of channels and a column stays in the first-level cache.
PANDO_MULTIVERSION void add_field_planes(const PooledConv& s, const PooledGradient& from,
                                         const float* filter, const FieldSums& sums,
                                         const Planes& planes) {
  const int64_t channels = s.conv.out_channels;
  const int64_t pixels = s.pool.out[1] * s.pool.out[2];
  for (int64_t plane = planes.pooled.begin; plane < planes.pooled.end; ++plane) {
    clear_planes(s, planes, plane);
    const fast::PixelWalk walk(s.pool.out, plane * pixels);
    for (int64_t column = 0; column < s.conv.in_channels; column += kWide) {
      for (int64_t o = 0; o < channels; o += FieldSums::kGroup) {
        sums.add(at_element(from, plane * pixels * channels + o),
                 std::min(channels - o, FieldSums::kGroup),
                 filter + (column * channels + o * kWide) * FieldSums::kWindow, {walk, pixels},
                 {planes.dx + column, planes.depth});
      }
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

// Packs the filter for FieldSums.
Packing column_packing(const PooledConv& shape) {
  const auto transpose = direct::choose_isa().transpose;
  const int64_t channels = shape.conv.out_channels;
  const int64_t columns = shape.conv.in_channels / kWide;
  const auto pack = [=](const KernelArgs& args, const StepArgs& step) {
    const Range units = fast::share(step.part, FieldSums::kWindow * columns);
    for (int64_t i = units.begin; i < units.end; ++i) {
      const int64_t column = i % columns * channels * FieldSums::kWindow * kWide;
      transpose({args.in(0) + i * kWide * channels, channels, kWide, channels,
                 args.out() + column + i / columns * kWide, FieldSums::kWindow * kWide});
    }
  };
  return {.input = 2,
          .layout = {"window-columns-by-channel", shape.window_floats * channels},
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
  const bool fields = FieldSums::can_add(shape);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const InputGradWork work(shape, ScratchCutter(args.scratch));
    const FieldSums sums(shape, ScratchCutter(args.scratch));
    const PooledGradient from = {args.in(0), args.in_as<uint8_t>(1),
                                 args.num_inputs > 3 ? args.in(3) : nullptr, activation.slope(0)};
    const int64_t each = shape.conv.in[0];
    const Range planes = fast::share(step.part, shape.conv.batch * each);
    for (int64_t plane = planes.begin; plane < planes.end;) {
      const int64_t sample = plane / each;
      const int64_t end = std::min((sample + 1) * each, planes.end);
      const Range depth{plane - sample * each, end - sample * each};
      const PooledGradient own =
          at_element(from, sample * shape.pool.out_pixels() * shape.conv.out_channels);
      const Planes target = {args.out() + sample * each * shape.plane_floats, depth,
                             pooled_planes(shape, depth)};
      if (target.pooled.size() <= 0) {  // no window reaches them
        std::fill(target.dx + depth.begin * shape.plane_floats,
                  target.dx + depth.end * shape.plane_floats, 0.0f);
      } else if (fields) {
        add_field_planes(shape, own, args.in(2), sums, target);
      } else {
        add_sorted_planes(shape, own, args.in(2), work, target);
      }
      plane = end;
    }
  };
  const size_t bytes = fields ? FieldSums(shape, ScratchCutter()).bytes()
                              : InputGradWork(shape, ScratchCutter()).bytes;
  KernelOffer offer = offer_function("fast", run, {.splits = true, .scratch_bytes = bytes});
  offer.packings.push_back(fields ? column_packing(shape) : kernel_packing(shape));
  return offer;
}

}  // namespace pando::kernels
