// Element types. Arithmetic is f32; f16, bf16, u8 and i32 are storage and labels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pando {

enum class DType : uint8_t { f32, f16, bf16, u8, i32 };

size_t size_of(DType dtype);
std::string_view to_string(DType dtype);
DType parse_dtype(std::string_view name);  // throws InvalidArgument

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};

}  // namespace pando
