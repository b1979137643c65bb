// What the fast kernels share: division of work into parts, and scratch memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "pando/kernels/function_kernel.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels::fast {

inline constexpr FunctionTraits kSplits{.splits = true};

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

inline Range share(const Part& part, int64_t units) { return {part.begin(units), part.end(units)}; }

// A share of `count` elements that starts on a cache line.
inline Range element_share(const Part& part, int64_t count) {
  constexpr int64_t kLine = 16;
  const int64_t lines = (count + kLine - 1) / kLine;
  return {std::min(part.begin(lines) * kLine, count), std::min(part.end(lines) * kLine, count)};
}

// [batch, spatial..., channels] as rows of pixels, which are the units that parts divide.
struct PixelRows {
  explicit PixelRows(const Shape& shape)
      : batch(shape.front()),
        channels(shape.back()),
        pixels(shape.elements_from(1) / std::max<int64_t>(channels, 1)),
        row_pixels(shape.rank() > 2 ? shape[shape.rank() - 2] : 1),
        rows_per_sample(pixels / std::max<int64_t>(row_pixels, 1)) {}

  int64_t batch;
  int64_t channels;
  int64_t pixels;      // of a sample
  int64_t row_pixels;  // of a row
  int64_t rows_per_sample;

  // The pixels of the whole batch that belong to the part.
  Range pixel_share(const Part& part) const {
    const Range rows = share(part, batch * rows_per_sample);
    return {rows.begin * row_pixels, rows.end * row_pixels};
  }
};

// Cuts scratch memory into arrays aligned to cache lines. With null memory it only counts the
// bytes.
class ScratchCutter {
 public:
  explicit ScratchCutter(std::byte* memory = nullptr) : memory_(memory) {}
  float* floats(int64_t count) {
    return reinterpret_cast<float*>(bytes(static_cast<size_t>(count) * sizeof(float)));
  }
  std::byte* bytes(size_t count) {
    std::byte* at = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (count + 63) / 64 * 64;
    return at;
  }
  size_t used() const { return used_; }

 private:
  std::byte* memory_;
  size_t used_ = 0;
};

}  // namespace pando::kernels::fast
