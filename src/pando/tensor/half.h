// Conversions between f32 and the 16-bit storage types, rounding to nearest, ties to even.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

namespace pando {

uint16_t to_f16(float value);  // IEEE binary16; overflow gives infinity
float from_f16(uint16_t bits);
uint16_t to_bf16(float value);
float from_bf16(uint16_t bits);

// Whether a file may store a weight with this many axes in f16: those of filters, if no number is
// beyond its range. Biases and the numbers of normalisations are few and lose more.
bool may_be_stored_in_half(int64_t axes, std::span<const float> values);

}  // namespace pando
