// The format of numbers in messages between instances: as they are, or rounded to 16 bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace pando::comm {

// f16: rounded to 16 bits and scaled by a power of two that suits the largest number of the
// message, so that small gradients do not vanish. bf16: rounded only. Numbers that are not finite
// arrive as NaN. Sums are still computed in 32 bits.
enum class WireFormat { f32, f16, bf16 };

// The size of a message with `count` numbers.
size_t wire_bytes(WireFormat format, size_t count);
void encode(WireFormat format, std::span<const float> values, std::byte* to);
void decode(WireFormat format, const std::byte* from, std::span<float> values);
// Adds the numbers of the message to `sums`.
void decode_and_add(WireFormat format, const std::byte* from, std::span<float> sums);

}  // namespace pando::comm
