// Copies or mirrors rows of pixels. Pixels with few channels have their own loops, in which the
// compiler knows the size of a move.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

using fast::Range;

template <size_t kBytes>
PANDO_INLINE void mirror(const std::byte* from, std::byte* to, int64_t pixels) {
  const std::byte* last = from + (pixels - 1) * static_cast<int64_t>(kBytes);
  for (int64_t p = 0; p < pixels; ++p) {
    std::memcpy(to + p * static_cast<int64_t>(kBytes), last - p * static_cast<int64_t>(kBytes),
                kBytes);
  }
}

// Three bytes are moved as four; the next pixel overwrites the fourth. The outermost pixels have no
// spare byte next to them.
PANDO_INLINE void mirror_three_bytes(const std::byte* from, std::byte* to, int64_t pixels) {
  if (pixels < 3) return mirror<3>(from, to, pixels);
  std::memcpy(to, from + 3 * (pixels - 1), 3);
  for (int64_t p = 1; p < pixels - 1; ++p) {
    std::memcpy(to + 3 * p, from + 3 * (pixels - 1 - p), 4);
  }
  std::memcpy(to + 3 * (pixels - 1), from, 3);
}

PANDO_INLINE void mirror_any(const std::byte* from, std::byte* to, int64_t pixels, size_t bytes) {
  const auto step = static_cast<int64_t>(bytes);
  for (int64_t p = 0; p < pixels; ++p) {
    std::memcpy(to + p * step, from + (pixels - 1 - p) * step, bytes);
  }
}

PANDO_MULTIVERSION void mirror_row(const std::byte* from, std::byte* to, int64_t pixels,
                                   size_t bytes) {
  switch (bytes) {
    case 1: return mirror<1>(from, to, pixels);
    case 3: return mirror_three_bytes(from, to, pixels);
    case 4: return mirror<4>(from, to, pixels);
    case 12: return mirror<12>(from, to, pixels);
    case 16: return mirror<16>(from, to, pixels);
    default: return mirror_any(from, to, pixels, bytes);
  }
}

}  // namespace

KernelOffer fast_flip_where(const ir::Node& node) {
  const ir::TensorType type = node.output()->type();
  const fast::PixelRows rows(type.shape);
  const size_t pixel_bytes = static_cast<size_t>(rows.channels) * size_of(type.dtype);
  const size_t row_bytes = static_cast<size_t>(rows.row_pixels) * pixel_bytes;
  const bool mirrors_all = node.inputs().size() == 1;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const Range mine = fast::share(step.part, rows.batch * rows.rows_per_sample);
    for (int64_t row = mine.begin; row < mine.end; ++row) {
      const std::byte* from = args.inputs[0] + static_cast<size_t>(row) * row_bytes;
      std::byte* to = args.outputs[0] + static_cast<size_t>(row) * row_bytes;
      if (mirrors_all || args.in_as<uint8_t>(1)[row / rows.rows_per_sample] != 0) {
        mirror_row(from, to, rows.row_pixels, pixel_bytes);
      } else {
        std::memcpy(to, from, row_bytes);
      }
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
