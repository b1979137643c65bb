// Numbers on their way between instances: as they are, or rounded to 16 bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace pando::comm {

// f16: rounded to 16 bits and scaled by the power of two that suits the largest of a message, so
// that small gradients do not vanish. bf16: rounded only. What is not finite arrives as NaN. Sums
// are still made in 32 bits.
enum class WireFormat { f32, f16, bf16 };

// Of a message with so many numbers.
size_t wire_bytes(WireFormat format, size_t count);
void encode(WireFormat format, std::span<const float> values, std::byte* to);
void decode(WireFormat format, const std::byte* from, std::span<float> values);
// Adds what the message holds.
void decode_and_add(WireFormat format, const std::byte* from, std::span<float> sums);

}  // namespace pando::comm
