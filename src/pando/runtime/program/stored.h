// Numbers in the type they are stored in, and blocks of them as f32, in which everything is
// computed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "pando/tensor/dtype.h"
#include "pando/tensor/half_rounding.h"

namespace pando::runtime {

// Elements of a block: as f32, all blocks that an update needs at once stay in the first-level
// cache.
constexpr int64_t kStoredBlock = 1024;

// A run of elements.
struct Block {
  int64_t at = 0;
  int64_t count = 0;
};

// Numbers of type f32, f16 or bf16, in memory that it does not own.
struct Stored {
  DType type = DType::f32;
  std::byte* data = nullptr;

  bool is_f32() const { return type == DType::f32; }
  float* f32() const { return reinterpret_cast<float*>(data); }
  uint16_t* halves() const { return reinterpret_cast<uint16_t*>(data); }

  // A block as f32: the elements themselves, or a copy of them in `space`.
  float* open(Block block, float* space) const {
    if (is_f32()) return f32() + block.at;
    widen_halves(type, halves() + block.at, space, block.count);
    return space;
  }
  // Writes an opened block back. Element i takes noise number `rounding.first` + i.
  void close(Block block, const float* opened, HalfRounding rounding) const {
    if (is_f32()) return;
    rounding.first += static_cast<uint64_t>(block.at);
    round_halves(type, opened, halves() + block.at, block.count, rounding);
  }
};

}  // namespace pando::runtime
