// Cuts a caller's scratch memory into cache-line-aligned pieces.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace pando::kernels::direct {

constexpr size_t kCacheLine = 64;

inline size_t rounded_bytes(int64_t floats) {
  return (static_cast<size_t>(floats) * sizeof(float) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// The bytes needed for pieces of these sizes, in any order, wherever the memory starts.
inline size_t scratch_bytes(std::initializer_list<int64_t> pieces) {
  size_t bytes = 0;
  for (const int64_t floats : pieces) bytes += rounded_bytes(floats);
  return bytes == 0 ? 0 : bytes + kCacheLine;
}

class Scratch {
 public:
  explicit Scratch(std::byte* memory) : next_(memory) {
    const auto misplaced = reinterpret_cast<uintptr_t>(memory) % kCacheLine;
    if (misplaced != 0) next_ += kCacheLine - misplaced;
  }

  float* take(int64_t floats) {
    auto* piece = reinterpret_cast<float*>(next_);
    next_ += rounded_bytes(floats);
    return piece;
  }

 private:
  std::byte* next_;
};

}  // namespace pando::kernels::direct
