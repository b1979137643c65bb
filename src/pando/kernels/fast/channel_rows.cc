// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/channel_rows.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/activation_loops.h"

namespace pando::kernels::fast {
namespace {

constexpr int64_t kRowFloats = 16;
constexpr int64_t kRowBlock = 8192;  // elements that fit into the first-level cache

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

PANDO_MULTIVERSION void sum_values(const float* __restrict x, int64_t count, int64_t length,
                                   float* __restrict sums) {
  for (int64_t i = 0; i < length; ++i) sums[i] = 0;
  for (int64_t base = 0; base < count; base += length) {
    const int64_t n = std::min(length, count - base);
    for (int64_t i = 0; i < n; ++i) sums[i] += x[base + i];
  }
}

struct BlockSums {
  const float* center;
  float* first;
  float* second;
  MaskRows mask = {};
};

// first = sum of (x - center), second = sum of its square. Four rows at a time, which halves the
// memory traffic of the sums.
PANDO_MULTIVERSION void sum_deviations(const float* __restrict x, int64_t count, int64_t length,
                                       const BlockSums& sums) {
  const float* __restrict center = sums.center;
  float* __restrict first = sums.first;
  float* __restrict second = sums.second;
  for (int64_t i = 0; i < length; ++i) first[i] = second[i] = 0;
  int64_t base = 0;
  for (; base + 4 * length <= count; base += 4 * length) {
    for (int64_t i = 0; i < length; ++i) {
      const float* p = x + base + i;
      const float c = center[i];
      const float a = p[0] - c;
      const float b = p[length] - c;
      const float d = p[2 * length] - c;
      const float e = p[3 * length] - c;
      first[i] += (a + b) + (d + e);
      second[i] += (a * a + b * b) + (d * d + e * e);
    }
  }
  for (; base < count; base += length) {
    const int64_t n = std::min(length, count - base);
    for (int64_t i = 0; i < n; ++i) {
      const float a = x[base + i] - center[i];
      first[i] += a;
      second[i] += a * a;
    }
  }
}

// dy where y is above 0 and below the ceiling, else 0. Uses bit operations: with a conditional
// value the compiler branches around the sums below and does not vectorise them.
PANDO_INLINE float masked_value(float dy, float y, float ceiling) {
  const uint32_t above = y > 0 ? ~uint32_t{0} : 0;
  const uint32_t keep = y < ceiling ? above : 0;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(dy) & keep);
}

template <bool masked>
PANDO_INLINE void sum_products_body(const GradientData& data, int64_t count, int64_t length,
                                    const BlockSums& sums) {
  const float* __restrict dy = data.dy;
  const float* __restrict x = data.x;
  const float* __restrict center = sums.center;
  const float* __restrict scale = sums.mask.scale;
  const float* __restrict shift = sums.mask.shift;
  const float ceiling = sums.mask.ceiling;
  float* __restrict first = sums.first;
  float* __restrict second = sums.second;
  const auto value = [=](int64_t at, int64_t i, float away) __attribute__((always_inline)) {
    return masked ? masked_value(dy[at], away * scale[i] + shift[i], ceiling) : dy[at];
  };
  for (int64_t i = 0; i < length; ++i) first[i] = second[i] = 0;
  int64_t base = 0;
  for (; base + 2 * length <= count; base += 2 * length) {
#pragma GCC ivdep
    for (int64_t i = 0; i < length; ++i) {
      const int64_t j = base + i;
      const int64_t k = j + length;
      const float away_j = x[j] - center[i];
      const float away_k = x[k] - center[i];
      const float a = value(j, i, away_j);
      const float b = value(k, i, away_k);
      first[i] += a + b;
      second[i] += a * away_j + b * away_k;
    }
  }
  for (; base < count; base += length) {
    const int64_t n = std::min(length, count - base);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = base + i;
      const float away = x[j] - center[i];
      const float a = value(j, i, away);
      first[i] += a;
      second[i] += a * away;
    }
  }
}

PANDO_MULTIVERSION void sum_products(const GradientData& data, int64_t count, int64_t length,
                                     const BlockSums& sums) {
  sum_products_body<false>(data, count, length, sums);
}

PANDO_MULTIVERSION void sum_masked_products(const GradientData& data, int64_t count, int64_t length,
                                            const BlockSums& sums) {
  sum_products_body<true>(data, count, length, sums);
}

PANDO_INLINE double fold(ChannelRow row, const float* sums, int64_t channel) {
  double total = 0;
  for (int64_t r = 0; r < row.repeat; ++r) total += sums[r * row.channels + channel];
  return total;
}

// Merges the sums of a block of `size` pixels into the moments of `before` pixels.
PANDO_MULTIVERSION void merge_block(ChannelRow row, ChannelScratch& scratch, double before,
                                    double size) {
  const double inverse = 1 / size;
  const double weight = size / (before + size);
  double* __restrict means = scratch.first;
  double* __restrict totals = scratch.second;
  float* __restrict center = scratch.center;
  for (int64_t c = 0; c < row.channels; ++c) {
    const double sum = fold(row, scratch.rows[0], c);
    const double squares = fold(row, scratch.rows[1], c) - sum * sum * inverse;
    const double apart = center[c] + sum * inverse - means[c];
    totals[c] += (squares > 0 ? squares : 0) + apart * apart * before * weight;
    means[c] += apart * weight;
    center[c] = static_cast<float>(means[c]);
  }
}

// Sets the center to the mean of the first block.
void center_on_block(const float* x, int64_t count, ChannelRow row, ChannelScratch& scratch) {
  sum_values(x, count, row.length(), scratch.rows[0]);
  const double pixels = static_cast<double>(count / row.channels);
  for (int64_t c = 0; c < row.channels; ++c) {
    scratch.center[c] = static_cast<float>(fold(row, scratch.rows[0], c) / pixels);
  }
}

template <Activation activation>
PANDO_INLINE void affine_body(const float* x, float* y, int64_t count, int64_t length,
                              const AffineRows& rows) {
  const float* __restrict center = rows.center;
  const float* __restrict scale = rows.scale;
  const float* __restrict shift = rows.shift;
  const float alpha = rows.alpha;
  for (int64_t base = 0; base < count; base += length) {
    const int64_t n = std::min(length, count - base);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const float value = (x[base + i] - center[i]) * scale[i] + shift[i];
      if constexpr (activation == Activation::none) {
        y[base + i] = value;
      } else if constexpr (activation == Activation::relu) {
        y[base + i] = value < 0 ? 0 : value;
      } else if constexpr (activation == Activation::relu6) {
        const float floored = value < 0 ? 0 : value;
        y[base + i] = floored > 6 ? 6 : floored;
      } else {
        y[base + i] = value > 0 ? value : value * alpha;
      }
    }
  }
}

PANDO_MULTIVERSION void affine(const float* x, float* y, int64_t count, int64_t length,
                               const AffineRows& rows) {
  affine_body<Activation::none>(x, y, count, length, rows);
}

PANDO_MULTIVERSION void affine_relu(const float* x, float* y, int64_t count, int64_t length,
                                    const AffineRows& rows) {
  affine_body<Activation::relu>(x, y, count, length, rows);
}

PANDO_MULTIVERSION void affine_relu6(const float* x, float* y, int64_t count, int64_t length,
                                     const AffineRows& rows) {
  affine_body<Activation::relu6>(x, y, count, length, rows);
}

PANDO_MULTIVERSION void affine_leaky_relu(const float* x, float* y, int64_t count, int64_t length,
                                          const AffineRows& rows) {
  affine_body<Activation::leaky_relu>(x, y, count, length, rows);
}

template <bool masked, bool sloped>
PANDO_INLINE void gradient_body(const GradientData& data, int64_t count, int64_t length,
                                const GradientRows& rows) {
  const float* dy = data.dy;
  const float* x = data.x;
  float* dx = data.dx;
  const float* __restrict center = rows.center;
  const float* __restrict scale = rows.scale;
  const float* __restrict slope = rows.slope;
  const float* __restrict shift = rows.shift;
  const float* __restrict mask_scale = rows.mask.scale;
  const float* __restrict mask_shift = rows.mask.shift;
  const float ceiling = rows.mask.ceiling;
  for (int64_t base = 0; base < count; base += length) {
    const int64_t n = std::min(length, count - base);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = base + i;
      const float away = masked || sloped ? x[j] - center[i] : 0;
      const float a =
          masked ? masked_value(dy[j], away * mask_scale[i] + mask_shift[i], ceiling) : dy[j];
      dx[j] = sloped ? a * scale[i] + (away * slope[i] + shift[i]) : a * scale[i];
    }
  }
}

PANDO_MULTIVERSION void gradient_sloped(const GradientData& data, int64_t count, int64_t length,
                                        const GradientRows& rows) {
  gradient_body<false, true>(data, count, length, rows);
}

PANDO_MULTIVERSION void gradient_masked_sloped(const GradientData& data, int64_t count,
                                               int64_t length, const GradientRows& rows) {
  gradient_body<true, true>(data, count, length, rows);
}

PANDO_MULTIVERSION void gradient_plain(const GradientData& data, int64_t count, int64_t length,
                                       const GradientRows& rows) {
  gradient_body<false, false>(data, count, length, rows);
}

PANDO_MULTIVERSION void gradient_masked(const GradientData& data, int64_t count, int64_t length,
                                        const GradientRows& rows) {
  gradient_body<true, false>(data, count, length, rows);
}

}  // namespace

ChannelRow channel_row(int64_t channels) {
  ChannelRow row{.channels = channels, .repeat = 1};
  if (channels >= 64) return row;  // long enough: an incomplete last vector costs little
  row.repeat = kRowFloats / std::gcd(channels, kRowFloats);
  while (row.length() < 128) row.repeat *= 2;
  return row;
}

// Blocks are whole rows, so that every block begins at the first channel.
int64_t block_elements(ChannelRow row) {
  const int64_t length = row.length();
  return std::max(kRowBlock / length, int64_t{16}) * length;
}

void repeat_channels(ChannelRow row, float* numbers) {
  for (int64_t i = row.channels; i < row.length(); ++i) numbers[i] = numbers[i - row.channels];
}

void apply_affine(const float* x, float* y, int64_t count, ChannelRow row, const AffineRows& rows) {
  switch (rows.activation) {
    case Activation::none: return affine(x, y, count, row.length(), rows);
    case Activation::relu: return affine_relu(x, y, count, row.length(), rows);
    case Activation::leaky_relu: return affine_leaky_relu(x, y, count, row.length(), rows);
    case Activation::relu6: return affine_relu6(x, y, count, row.length(), rows);
    default: break;  // curves
  }
  // Pieces of whole rows, which are in the cache when the activation reads them.
  const int64_t step = std::max<int64_t>(4096 / row.length(), 1) * row.length();
  for (int64_t at = 0; at < count; at += step) {
    const int64_t piece = std::min(step, count - at);
    affine(x + at, y + at, piece, row.length(), rows);
    activate({rows.activation, rows.alpha}, y + at, piece);
  }
}

void apply_gradient(const GradientData& data, int64_t count, ChannelRow row,
                    const GradientRows& rows) {
  const bool masked = rows.mask.scale != nullptr;
  if (rows.slope != nullptr) {
    return masked ? gradient_masked_sloped(data, count, row.length(), rows)
                  : gradient_sloped(data, count, row.length(), rows);
  }
  return masked ? gradient_masked(data, count, row.length(), rows)
                : gradient_plain(data, count, row.length(), rows);
}

ChannelScratch::ChannelScratch(ChannelRow row, std::byte* memory) {
  const int64_t totals = aligned(row.channels * static_cast<int64_t>(sizeof(double)));
  const int64_t numbers = aligned(row.length() * static_cast<int64_t>(sizeof(float)));
  first = reinterpret_cast<double*>(memory);
  second = reinterpret_cast<double*>(memory + totals);
  center = reinterpret_cast<float*>(memory + 2 * totals);
  rows[0] = reinterpret_cast<float*>(memory + 2 * totals + numbers);
  rows[1] = reinterpret_cast<float*>(memory + 2 * totals + 2 * numbers);
}

size_t ChannelScratch::bytes(ChannelRow row) {
  return static_cast<size_t>(2 * aligned(row.channels * static_cast<int64_t>(sizeof(double))) +
                             3 * aligned(row.length() * static_cast<int64_t>(sizeof(float))));
}

void clear_totals(ChannelRow row, ChannelScratch& scratch) {
  std::fill_n(scratch.first, row.channels, 0.0);
  std::fill_n(scratch.second, row.channels, 0.0);
}

void sum_moments(const Elements& x, int64_t pixels, ChannelRow row, ChannelScratch& scratch) {
  clear_totals(row, scratch);
  const int64_t count = pixels * row.channels;
  const int64_t step = block_elements(row);
  double before = 0;  // pixels of the blocks before this one
  for (int64_t base = 0; base < count; base += step) {
    const int64_t elements = std::min(step, count - base);
    const float* block = x.block(base, elements);
    if (base == 0) center_on_block(block, elements, row, scratch);
    repeat_channels(row, scratch.center);
    sum_deviations(block, elements, row.length(),
                   {scratch.center, scratch.rows[0], scratch.rows[1]});
    const double size = static_cast<double>(elements / row.channels);
    merge_block(row, scratch, before, size);
    before += size;
  }
}

void add_values(const float* x, int64_t pixels, ChannelRow row, ChannelScratch& scratch) {
  const int64_t count = pixels * row.channels;
  const int64_t step = block_elements(row);
  for (int64_t base = 0; base < count; base += step) {
    sum_values(x + base, std::min(step, count - base), row.length(), scratch.rows[0]);
    for (int64_t c = 0; c < row.channels; ++c) {
      scratch.first[c] += fold(row, scratch.rows[0], c);
    }
  }
}

void add_products(const GradientElements& data, int64_t pixels, ChannelRow row,
                  ChannelScratch& scratch, const MaskRows& mask) {
  const int64_t count = pixels * row.channels;
  const int64_t step = block_elements(row);
  const BlockSums sums{scratch.center, scratch.rows[0], scratch.rows[1], mask};
  for (int64_t base = 0; base < count; base += step) {
    const int64_t elements = std::min(step, count - base);
    const GradientData block{.dy = data.dy.block(base, elements),
                             .x = data.x.block(base, elements)};
    if (mask.scale != nullptr) {
      sum_masked_products(block, elements, row.length(), sums);
    } else {
      sum_products(block, elements, row.length(), sums);
    }
    for (int64_t c = 0; c < row.channels; ++c) {
      scratch.first[c] += fold(row, scratch.rows[0], c);
      scratch.second[c] += fold(row, scratch.rows[1], c);
    }
  }
}

}  // namespace pando::kernels::fast
