// The gradient of max pooling, by gathering: each row of the result collects from the windows that
// cover it, so that parts can divide its rows.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/pool_shape.h"
#include "pando/kernels/fast/vectors.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels {
namespace {

using fast::Floats;
using fast::Int32s;
using fast::PoolShape;
using fast::Range;
using fast::RowPlace;

struct GradData {
  const float* dy;
  const uint8_t* index;
  const float* y;  // only with an activation
  float* dx;
  float alpha;
};

// One row of windows and a row of dx that it covers, from tap `position` on.
struct RowPair {
  int64_t from;      // first element of the windows' row
  int64_t to;        // first element of the row of dx
  int32_t position;  // of the first tap of this row in the window
};

// Writes the share of dy of one window to dx, at the taps of the window that lie in this row; with
// `adds`, adds it to what is there.
template <typename Values, typename Indices, Activation activation, bool adds>
PANDO_INLINE void scatter_channels(const GradData& data, int64_t from, int64_t to, int64_t channels,
                                   Range taps, int32_t position) {
  Values gradient;
  Indices index;
  fast::load(data.dy + from, gradient);
  fast::load_bytes(data.index + from, index);
  if constexpr (activation != Activation::none) {
    Values y;
    fast::load(data.y + from, y);
    const Values below = activation == Activation::relu ? Values{} : gradient * data.alpha;
    gradient = y > 0 ? gradient : below;
  }
  for (int64_t k = taps.begin; k < taps.end; ++k) {
    Indices here;
    fast::spread_byte(position + static_cast<int32_t>(k), here);
    Values value = index == here ? gradient : Values{};
    if constexpr (adds) {
      Values before;
      fast::load(data.dx + to + k * channels, before);
      value += before;
    }
    fast::store(data.dx + to + k * channels, value);
  }
}

// `fixed` is the number of taps if it is the same for every window, else 0.
template <Activation activation, bool adds, int64_t fixed>
PANDO_INLINE void scatter_row(const PoolShape& p, const GradData& data, const RowPair& pair) {
  const int64_t channels = p.channels;
  for (int64_t o = 0; o < p.out[2]; ++o) {
    const Range taps = fixed > 0 ? Range{0, fixed} : p.taps(2, o);
    const int64_t from = pair.from + o * channels;
    const int64_t to = pair.to + (o * p.stride[2] - p.pad_low[2]) * channels;
    int64_t c = 0;
    for (; c + fast::kLanes <= channels; c += fast::kLanes) {
      scatter_channels<Floats, Int32s, activation, adds>(data, from + c, to + c, channels, taps,
                                                         pair.position);
    }
    for (; c < channels; ++c) {
      scatter_channels<float, int32_t, activation, adds>(data, from + c, to + c, channels, taps,
                                                         pair.position);
    }
  }
}

template <Activation activation, bool adds>
PANDO_INLINE void grad_rows(const PoolShape& shape, const GradData& arguments, Range rows) {
  // Local copies, because the compiler must assume that the stores below change data behind
  // references.
  const PoolShape p = shape;
  const GradData data = arguments;
  const int64_t row_elements = p.in[2] * p.channels;
  // If windows tile the front of the row, only the rest must be cleared.
  const bool tiles = !adds && p.window[2] == p.stride[2] && p.pad_low[2] == 0;
  const bool pairs = tiles && p.window[2] == 2 && p.out[2] * 2 <= p.in[2];
  const int64_t tiled = tiles ? std::min(p.out[2] * p.stride[2], p.in[2]) * p.channels : 0;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const RowPlace place(row, p.in);
    const Range depths = p.windows_over(0, place.depth);
    const Range heights = p.windows_over(1, place.height);
    const bool covered = depths.size() > 0 && heights.size() > 0;
    std::fill(data.dx + row * row_elements + (covered ? tiled : 0),
              data.dx + (row + 1) * row_elements, 0.0f);
    for (int64_t d = depths.begin; d < depths.end; ++d) {
      for (int64_t h = heights.begin; h < heights.end; ++h) {
        const int64_t tap_depth = place.depth + p.pad_low[0] - d * p.stride[0];
        const int64_t tap_height = place.height + p.pad_low[1] - h * p.stride[1];
        const int64_t windows_row = (place.sample * p.out[0] + d) * p.out[1] + h;
        const RowPair pair{
            .from = windows_row * p.out[2] * p.channels,
            .to = row * row_elements,
            .position = static_cast<int32_t>((tap_depth * p.window[1] + tap_height) * p.window[2])};
        if (pairs) {
          scatter_row<activation, adds, 2>(p, data, pair);
        } else {
          scatter_row<activation, adds, 0>(p, data, pair);
        }
      }
    }
  }
}

PANDO_MULTIVERSION void grad_disjoint(const PoolShape& p, const GradData& data, Range rows) {
  grad_rows<Activation::none, false>(p, data, rows);
}
PANDO_MULTIVERSION void grad_disjoint_relu(const PoolShape& p, const GradData& data, Range rows) {
  grad_rows<Activation::relu, false>(p, data, rows);
}
PANDO_MULTIVERSION void grad_disjoint_leaky(const PoolShape& p, const GradData& data, Range rows) {
  grad_rows<Activation::leaky_relu, false>(p, data, rows);
}
PANDO_MULTIVERSION void grad_adding(const PoolShape& p, const GradData& data, Range rows) {
  grad_rows<Activation::none, true>(p, data, rows);
}
PANDO_MULTIVERSION void grad_adding_relu(const PoolShape& p, const GradData& data, Range rows) {
  grad_rows<Activation::relu, true>(p, data, rows);
}
PANDO_MULTIVERSION void grad_adding_leaky(const PoolShape& p, const GradData& data, Range rows) {
  grad_rows<Activation::leaky_relu, true>(p, data, rows);
}

using GradRows = void (*)(const PoolShape&, const GradData&, Range);

GradRows choose_rows(const PoolShape& p, Activation activation) {
  const bool disjoint = p.disjoint();
  switch (activation) {
    case Activation::none: return disjoint ? grad_disjoint : grad_adding;
    case Activation::relu: return disjoint ? grad_disjoint_relu : grad_adding_relu;
    case Activation::leaky_relu: return disjoint ? grad_disjoint_leaky : grad_adding_leaky;
    default: break;  // the op takes no others
  }
  return grad_adding;
}

}  // namespace

KernelOffer fast_max_pool_grad(const ir::Node& node) {
  const PoolShape p(node);
  const NodeActivation activation = node_activation(node);
  const GradRows rows = choose_rows(p, activation.kind);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const float* y = activation.kind == Activation::none ? nullptr : args.in(2);
    rows(p, {args.in(0), args.in_as<uint8_t>(1), y, args.out(), activation.alpha},
         fast::share(step.part, p.input_rows()));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
