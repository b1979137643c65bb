// Loops that map pixels of images to value * scale + shift. They are inlined into the multi-version
// functions that call them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include "pando/base/multiversion.h"

namespace pando::kernels::fast {

// The number of channels before and after. Added channels are zero.
struct PixelChannels {
  int64_t from = 0;
  int64_t to = 0;
};

// Four channels at once.
using Quad = float __attribute__((vector_size(16)));
using QuadBits = int32_t __attribute__((vector_size(16)));

// Loads the three channels of a pixel together with the number that follows, which becomes zero.
// Bytes stay at their place in the 32-bit word, which multiplies them by the factors in kPlaces:
// this is exact and much cheaper than moving them.
PANDO_INLINE Quad load_three(const uint8_t* from) {
  int32_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  const QuadBits bytes = QuadBits{word, word, word, word} & QuadBits{0xff, 0xff00, 0xff0000, 0};
  return __builtin_convertvector(bytes, Quad);
}
PANDO_INLINE Quad load_three(const float* from) {
  QuadBits bits;
  std::memcpy(&bits, from, sizeof(bits));
  bits &= QuadBits{-1, -1, -1, 0};
  Quad values;
  std::memcpy(&values, &bits, sizeof(values));
  return values;
}
template <typename T>
inline constexpr float kPlaces[3] = {1, 1, 1};
template <>
inline constexpr float kPlaces<uint8_t>[3] = {1, 0x1p8f, 0x1p16f};

template <typename T>
PANDO_INLINE void map_pixel(const T* from, float* to, const PixelChannels& channels,
                            const float* scale, const float* shift) {
  for (int64_t c = 0; c < channels.to; ++c) {
    to[c] = c < channels.from ? static_cast<float>(from[c]) * scale[c] + shift[c] : 0;
  }
}

// Maps three channels to four. The last pixel is a special case: no number follows it.
template <typename T>
PANDO_INLINE void map_three_to_four(const T* from, float* to, int64_t pixels, const float* scale,
                                    const float* shift) {
  const float* places = kPlaces<T>;
  const Quad factor = {scale[0] / places[0], scale[1] / places[1], scale[2] / places[2], 0};
  const Quad offset = {shift[0], shift[1], shift[2], 0};
  for (int64_t p = 0; p + 1 < pixels; ++p) {
    const Quad mapped = load_three(from + 3 * p) * factor + offset;
    std::memcpy(to + 4 * p, &mapped, sizeof(mapped));
  }
  if (pixels > 0) map_pixel(from + 3 * (pixels - 1), to + 4 * (pixels - 1), {3, 4}, scale, shift);
}

// Maps pixels and adds channels of zeros. `scale` and `shift` have one number per channel of the
// pixels.
template <typename T>
PANDO_INLINE void map_wider(const T* from, float* to, int64_t pixels, const PixelChannels& channels,
                            const float* scale, const float* shift) {
  if (channels.from == 3 && channels.to == 4) {
    return map_three_to_four(from, to, pixels, scale, shift);
  }
  for (int64_t p = 0; p < pixels; ++p) {
    map_pixel(from + p * channels.from, to + p * channels.to, channels, scale, shift);
  }
}

}  // namespace pando::kernels::fast
