// Moves channels into boxes of pixels and back, row by row of the larger picture, which parts
// divide.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

struct BoxMove {
  BoxMove(const ir::Node& node, const Shape& small, const Shape& large)
      : block(ops::int_attribute(node, "block")),
        channels(large.back()),
        width(small[2]),
        rows(large[0] * large[1]),
        crd(ops::text_attribute(node, "mode") == "CRD") {}

  int64_t block;
  int64_t channels;  // of the larger picture
  int64_t width;     // of the smaller picture
  int64_t rows;      // of the larger picture
  bool crd;
};

// A row of the larger picture holds one row of the box of every pixel of a row of the smaller one.
template <bool to_space>
void move_rows(const BoxMove& m, const float* x, float* y, fast::Range rows) {
  const int64_t run = m.block * m.channels;  // elements of a row of a box
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t i = row % m.block;
    for (int64_t w = 0; w < m.width; ++w) {
      const int64_t pixel = row / m.block * m.width + w;
      const int64_t space = (row * m.width + w) * run;
      if (!m.crd) {
        const int64_t depth = (pixel * m.block + i) * run;
        std::memcpy(y + (to_space ? space : depth), x + (to_space ? depth : space),
                    static_cast<size_t>(run) * sizeof(float));
        continue;
      }
      const int64_t depth = (pixel * run + i) * m.block;
      for (int64_t j = 0; j < m.block; ++j) {
        for (int64_t c = 0; c < m.channels; ++c) {
          const int64_t there = space + j * m.channels + c;
          const int64_t here = depth + c * m.block * m.block + j;
          y[to_space ? there : here] = x[to_space ? here : there];
        }
      }
    }
  }
}

}  // namespace

KernelOffer fast_depth_to_space(const ir::Node& node) {
  const BoxMove move(node, node.input(0)->shape(), node.output()->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    move_rows<true>(move, args.in(0), args.out(), fast::share(step.part, move.rows));
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer fast_space_to_depth(const ir::Node& node) {
  const BoxMove move(node, node.output()->shape(), node.input(0)->shape());
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    move_rows<false>(move, args.in(0), args.out(), fast::share(step.part, move.rows));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
