// The input gradient of a convolution of 2x2x2 behind max pooling of 2x2x2: the field of a pooled
// pixel, 3x3x3 input pixels of 16 channels, stays in registers while the filters of all channels
// are added. The channels of one position are a set of bits, so nothing is sorted, and a field has
// no edges: only its part inside the input is added to the result.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <utility>

#include "pando/kernels/fast/pooled_conv.h"

namespace pando::kernels::fast {

// Requires: can_add(shape), which outlives this; scratch memory of bytes().
class FieldSums {
 public:
  static constexpr int64_t kPositions = 8;
  static constexpr int64_t kWindow = 8;  // pixels
  static constexpr int64_t kField = 27;  // pixels
  static constexpr int64_t kGroup = 64;  // output channels, the bits of a set

  FieldSums(const PooledConv& shape, ScratchCutter cutter)
      : s_(shape),
        factors_(cutter.floats(kGroup)),
        field_(cutter.floats(kField * kWide)),
        bytes_(cutter.used()) {}
  size_t bytes() const { return bytes_; }

  static bool can_add(const PooledConv& s) {
    const PooledConv::Extents twos = {2, 2, 2};
    return s.pool.window == twos && s.conv.filter == twos && s.conv.in_channels % kWide == 0;
  }

  struct Pixels {
    PixelWalk first;
    int64_t count;
  };
  struct Planes {
    float* dx;
    Range depth;
  };

  // Adds the filters of up to kGroup output channels to planes of dx. `from` begins at the first of
  // these channels of the first pixel, and `dx` at the first of 16 input channels; `filter` is
  // [output channel][window][16].
  PANDO_INLINE void add(const PooledGradient& from, int64_t channels, const float* filter,
                        const Pixels& pixels, const Planes& planes) const {
    const auto [dx, depth] = planes;
    const int64_t step = s_.conv.out_channels;
    PixelWalk walk = pixels.first;
    for (int64_t at = 0; at < pixels.count * step; at += step, walk.next()) {
      take_factors(from, at, channels, factors_);
      const Inside part = s_.field_inside(walk.at, depth);
      uint64_t sets[kPositions];
      list_channels(from.index + at, channels, sets);
      // Windows that do not reach the planes are left out.
      if (part.a.begin >= 2) std::fill(sets, sets + kPositions / 2, 0);
      if (part.a.end <= 1) std::fill(sets + kPositions / 2, sets + kPositions, 0);
      WideFloats sums[kField] = {};
      add_positions(filter, sets, sums, std::make_index_sequence<kPositions>());
      float* to = dx + s_.first_element(walk.at);
      if (part.a.size() * part.b.size() * part.l.size() == s_.field_floats()) {
        add_whole(sums, to, std::make_index_sequence<kField>());
      } else {
        add_part(sums, part, to, std::make_index_sequence<kField>());
      }
    }
  }

 private:
  // Lists the channels of each position.
  PANDO_INLINE static void list_channels(const uint8_t* index, int64_t channels,
                                         uint64_t (&sets)[kPositions]) {
    uint64_t bits[3] = {};  // of the positions of the channels
    for (int64_t i = 0; i < channels; i += 8) {
      uint64_t bytes = 0;
      if (i + 8 <= channels) {
        std::memcpy(&bytes, index + i, sizeof(bytes));
      } else {
        for (int64_t j = i; j < channels; ++j) bytes |= uint64_t{index[j]} << (8 * (j - i));
      }
      for (int b = 0; b < 3; ++b) {
        // The product moves the lowest bit of each byte to the highest byte.
        const uint64_t lowest = bytes >> b & 0x0101010101010101u;
        bits[b] |= (lowest * 0x0102040810204080u >> 56) << i;
      }
    }
    const uint64_t all = ~uint64_t{0} >> (kGroup - channels);
    for (int position = 0; position < kPositions; ++position) {
      uint64_t set = all;
      for (int b = 0; b < 3; ++b) set &= (position >> b & 1) != 0 ? bits[b] : ~bits[b];
      sets[position] = set;
    }
  }

  // The pixel of the field that is pixel `in_window` of the window at `position`.
  static constexpr size_t place(size_t position, size_t in_window) {
    const size_t a = position / 4 + in_window / 4;
    const size_t b = position / 2 % 2 + in_window / 2 % 2;
    return (a * 3 + b) * 3 + position % 2 + in_window % 2;
  }

  template <size_t... positions>
  PANDO_INLINE void add_positions(const float* filter, const uint64_t (&sets)[kPositions],
                                  WideFloats (&sums)[kField],
                                  std::index_sequence<positions...>) const {
    (add_position<positions>(filter, sets[positions], sums), ...);
  }
  template <size_t position>
  PANDO_INLINE void add_position(const float* filter, uint64_t set,
                                 WideFloats (&sums)[kField]) const {
    for (; set != 0; set &= set - 1) {
      const int64_t channel = __builtin_ctzll(set);
      add_window<position>(factors_[channel], filter + channel * kWindow * kWide, sums,
                           std::make_index_sequence<kWindow>());
    }
  }
  template <size_t position, size_t... in_window>
  PANDO_INLINE static void add_window(float factor, const float* filter, WideFloats (&sums)[kField],
                                      std::index_sequence<in_window...>) {
    (add_scaled_vector(sums[place(position, in_window)], filter + in_window * kWide, factor), ...);
  }
  PANDO_INLINE static void add_scaled_vector(WideFloats& sum, const float* from, float factor) {
    WideFloats values;
    load(from, values);
    sum += factor * values;
  }

  template <size_t... pixels>
  PANDO_INLINE void add_whole(const WideFloats (&sums)[kField], float* to,
                              std::index_sequence<pixels...>) const {
    const int64_t channels = s_.conv.in_channels;
    const int64_t row = s_.row_floats;
    const int64_t plane = s_.plane_floats;
    (add_vector(to + pixels / 9 * plane + pixels / 3 % 3 * row + pixels % 3 * channels,
                sums[pixels]),
     ...);
  }
  template <size_t... pixels>
  PANDO_INLINE void add_part(const WideFloats (&sums)[kField], const Inside& part, float* to,
                             std::index_sequence<pixels...>) const {
    (store(field_ + pixels * kWide, sums[pixels]), ...);
    const int64_t channels = s_.conv.in_channels;
    for (int64_t a = part.a.begin; a < part.a.end; ++a) {
      for (int64_t b = part.b.begin; b < part.b.end; ++b) {
        float* row = to + a * s_.plane_floats + b * s_.row_floats;
        const float* sum = field_ + (a * 3 + b) * 3 * kWide;
        for (int64_t c = part.l.begin / channels; c * channels < part.l.end; ++c) {
          WideFloats values;
          load(sum + c * kWide, values);
          add_vector(row + c * channels, values);
        }
      }
    }
  }
  PANDO_INLINE static void add_vector(float* to, const WideFloats& more) {
    WideFloats sum;
    load(to, sum);
    sum += more;
    store(to, sum);
  }

  const PooledConv& s_;
  float* factors_;  // of the channels of a pixel
  float* field_;    // of a pixel at the edge
  size_t bytes_;
};

}  // namespace pando::kernels::fast
