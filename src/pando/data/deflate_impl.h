// Shared by the readers of compressed data. Keeps zlib's header out of public headers.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <zlib.h>

namespace pando::data {

constexpr uint64_t kMostExpansion = 1040;    // deflate cannot expand by more than 1032
constexpr uint64_t kMostBuffered = 1 << 16;  // decoded by zlib, not handed out yet

// zlib counts bytes in an unsigned int.
inline uInt clamp_to_uint(size_t count) {
  return static_cast<uInt>(std::min<size_t>(count, std::numeric_limits<uInt>::max()));
}

}  // namespace pando::data
