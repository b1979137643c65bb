// Conversions between f32 and the 16-bit storage types, rounding to nearest, ties to even.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace pando {

uint16_t to_f16(float value);  // IEEE binary16; overflow gives infinity
float from_f16(uint16_t bits);
uint16_t to_bf16(float value);
float from_bf16(uint16_t bits);

}  // namespace pando
