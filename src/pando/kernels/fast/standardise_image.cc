// Computes the mean and deviation of each sample, then applies them in one pass. Sums of bytes are
// exact; sums of floats use double precision and are taken relative to the mean.
// SPDX-License-Identifier: MIT
#include "pando/base/deviation.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/pixel_map.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

using fast::PixelChannels;
using fast::Range;

struct Moments {
  double mean = 0;
  double variance = 0;
};

// 32-bit sums cannot overflow within a block: 4096 * 255^2 < 2^32.
PANDO_MULTIVERSION Moments moments_u8(const uint8_t* x, int64_t count) {
  constexpr int64_t kPixels = 4096;
  uint64_t values = 0;
  uint64_t squares = 0;
  for (int64_t begin = 0; begin < count; begin += kPixels) {
    const int64_t end = begin + kPixels < count ? begin + kPixels : count;
    uint32_t block_values = 0;
    uint32_t block_squares = 0;
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t value = x[i];
      block_values += value;
      block_squares += value * value;
    }
    values += block_values;
    squares += block_squares;
  }
  const auto number = static_cast<double>(count);
  const double mean = static_cast<double>(values) / number;
  return {mean, static_cast<double>(squares) / number - mean * mean};
}

// Uses several running sums, because a single one would wait for every addition.
constexpr int64_t kSums = 16;

PANDO_INLINE double total(const double* sums) {
  double all = 0;
  for (int64_t i = 0; i < kSums; ++i) all += sums[i];
  return all;
}

PANDO_MULTIVERSION Moments moments_f32(const float* x, int64_t count) {
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t s = 0; s < kSums; ++s) sums[s] += static_cast<double>(x[i + s]);
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(x[i]);
  const double mean = total(sums) / static_cast<double>(count);
  double squares[kSums] = {};
  for (i = 0; i + kSums <= count; i += kSums) {
    for (int64_t s = 0; s < kSums; ++s) {
      const double away = static_cast<double>(x[i + s]) - mean;
      squares[s] += away * away;
    }
  }
  for (; i < count; ++i) {
    const double away = static_cast<double>(x[i]) - mean;
    squares[0] += away * away;
  }
  return {mean, total(squares) / static_cast<double>(count)};
}

struct Images {
  explicit Images(const ir::Node& node)
      : channels{node.input(0)->shape().back(), node.output()->shape().back()},
        batch(node.input(0)->shape().front()),
        pixels(node.input(0)->shape().elements_from(1) / std::max<int64_t>(channels.from, 1)) {}

  PixelChannels channels;
  int64_t batch;
  int64_t pixels;  // of a sample
};

template <typename T>
PANDO_INLINE void apply(const Images& images, const Moments& moments, const T* __restrict from,
                        float* __restrict to) {
  const double inverse = inverse_deviation(moments.mean, moments.variance);
  const auto scale = static_cast<float>(inverse);
  const auto shift = static_cast<float>(-moments.mean * inverse);
  const PixelChannels& channels = images.channels;
  if (channels.from == 3 && channels.to == 4) {
    const float scales[] = {scale, scale, scale};
    const float shifts[] = {shift, shift, shift};
    return fast::map_three_to_four(from, to, images.pixels, scales, shifts);
  }
  if (channels.from == channels.to) {
    for (int64_t i = 0; i < images.pixels * channels.from; ++i) {
      to[i] = static_cast<float>(from[i]) * scale + shift;
    }
    return;
  }
  for (int64_t i = 0; i < images.pixels * channels.to; ++i) {
    const int64_t c = i % channels.to;
    const int64_t at = i / channels.to * channels.from + c;
    to[i] = c < channels.from ? static_cast<float>(from[at]) * scale + shift : 0;
  }
}

PANDO_MULTIVERSION void apply_u8(const Images& images, const Moments& moments, const uint8_t* from,
                                 float* to) {
  apply(images, moments, from, to);
}
PANDO_MULTIVERSION void apply_f32(const Images& images, const Moments& moments, const float* from,
                                  float* to) {
  apply(images, moments, from, to);
}

}  // namespace

KernelOffer fast_standardise_image(const ir::Node& node) {
  const Images images(node);
  const bool bytes = node.input(0)->type().dtype == DType::u8;
  const int64_t count = images.pixels * images.channels.from;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const Range samples = fast::share(step.part, images.batch);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      float* to = args.out() + n * images.pixels * images.channels.to;
      if (bytes) {
        const uint8_t* from = args.in_as<uint8_t>(0) + n * count;
        apply_u8(images, moments_u8(from, count), from, to);
      } else {
        const float* from = args.in(0) + n * count;
        apply_f32(images, moments_f32(from, count), from, to);
      }
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
