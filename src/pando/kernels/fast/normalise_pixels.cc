// Maps pixels with a factor and an offset per channel. If no channels are added, rows of repeated
// factors and offsets turn the work into one loop over elements.
// SPDX-License-Identifier: MIT
#include <memory>
#include <vector>

#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/pixel_map.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

using fast::PixelChannels;
using fast::Range;

constexpr int64_t kRowPixels = 64;

// The constants of a node. A row repeats the numbers of the channels.
struct Normalisation {
  explicit Normalisation(const ir::Node& node)
      : channels{node.input(0)->shape().back(), node.output()->shape().back()},
        pixels(node.input(0)->shape().elements() / std::max<int64_t>(channels.from, 1)),
        scale(repeat(ops::numbers_attribute(node, "scale"))),
        shift(repeat(ops::numbers_attribute(node, "shift"))) {}

  static std::vector<float> repeat(const ir::Numbers& numbers) {
    std::vector<float> row;
    for (int64_t p = 0; p < kRowPixels; ++p) {
      for (const double number : numbers) row.push_back(static_cast<float>(number));
    }
    return row;
  }

  PixelChannels channels;
  int64_t pixels;
  std::vector<float> scale;
  std::vector<float> shift;
};

template <typename T>
PANDO_INLINE void normalise(const Normalisation& n, const T* __restrict from, float* __restrict to,
                            Range pixels) {
  const float* __restrict scale = n.scale.data();
  const float* __restrict shift = n.shift.data();
  from += pixels.begin * n.channels.from;
  to += pixels.begin * n.channels.to;
  if (n.channels.from != n.channels.to) {
    return fast::map_wider(from, to, pixels.size(), n.channels, scale, shift);
  }
  const int64_t row = kRowPixels * n.channels.from;
  const int64_t count = pixels.size() * n.channels.from;
  int64_t begin = 0;
  for (; begin + row <= count; begin += row) {
    for (int64_t i = 0; i < row; ++i) {
      to[begin + i] = static_cast<float>(from[begin + i]) * scale[i] + shift[i];
    }
  }
  for (int64_t i = 0; begin + i < count; ++i) {
    to[begin + i] = static_cast<float>(from[begin + i]) * scale[i] + shift[i];
  }
}

PANDO_MULTIVERSION void normalise_u8(const Normalisation& n, const uint8_t* from, float* to,
                                     Range pixels) {
  normalise(n, from, to, pixels);
}
PANDO_MULTIVERSION void normalise_f32(const Normalisation& n, const float* from, float* to,
                                      Range pixels) {
  normalise(n, from, to, pixels);
}

}  // namespace

KernelOffer fast_normalise_pixels(const ir::Node& node) {
  const auto constants = std::make_shared<const Normalisation>(node);
  const bool bytes = node.input(0)->type().dtype == DType::u8;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const Range mine = fast::share(step.part, constants->pixels);
    if (bytes) return normalise_u8(*constants, args.in_as<uint8_t>(0), args.out(), mine);
    normalise_f32(*constants, args.in(0), args.out(), mine);
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
