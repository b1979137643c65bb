// Numbers of the file as numbers of this machine.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "pando/store/hdf5/types.h"
#include "pando/tensor/half.h"

namespace pando::store::hdf5 {

namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
T load_number(const uint8_t* at, bool big_endian) {
  std::array<uint8_t, sizeof(T)> bytes;
  std::copy_n(at, sizeof(T), bytes.begin());
  if (big_endian) std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

// Calls `store(index, value)` with every number in a C++ type that holds it; float16 as float.
template <typename Store>
void each_number(const Datatype& type, ByteSpan raw, const Store& store) {
  const auto all = [&]<typename T>(T, const auto& convert) {
    for (size_t i = 0; i < raw.size() / sizeof(T); ++i) {
      store(i, convert(load_number<T>(raw.data() + i * sizeof(T), type.big_endian)));
    }
  };
  const auto same = [](auto value) { return value; };
  if (type.kind == ElementKind::floating) {
    if (type.bytes == 2) return all(uint16_t{}, [](uint16_t bits) { return from_f16(bits); });
    return type.bytes == 4 ? all(float{}, same) : all(double{}, same);
  }
  switch (type.bytes) {
    case 1: return type.is_signed ? all(int8_t{}, same) : all(uint8_t{}, same);
    case 2: return type.is_signed ? all(int16_t{}, same) : all(uint16_t{}, same);
    case 4: return type.is_signed ? all(int32_t{}, same) : all(uint32_t{}, same);
    default: return type.is_signed ? all(int64_t{}, same) : all(uint64_t{}, same);
  }
}

// To the nearest float; beyond the range to infinity.
float narrowed(double value) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  constexpr double kRoundsUp = 0x1.ffffffp127;  // halfway between the largest float and 2^128
  if (value >= kRoundsUp) return std::numeric_limits<float>::infinity();
  if (value <= -kRoundsUp) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(value != value ? value : std::clamp(value, -kLargest, kLargest));
}

template <typename T>
int32_t as_i32(T value, const Datatype& type) {
  if (!std::in_range<int32_t>(value)) {
    throw IoError("the ", type.name, " number ", value, " does not fit into int32");
  }
  return static_cast<int32_t>(value);
}

}  // namespace

std::vector<double> decode_numbers(const Datatype& type, ByteSpan raw) {
  std::vector<double> values(raw.size() / type.bytes);
  each_number(type, raw, [&](size_t i, auto value) { values[i] = static_cast<double>(value); });
  return values;
}

DType tensor_type(const Datatype& type) {
  if (!type.is_number()) {
    throw IoError("expected floating point or integers, got ", type.name,
                  type.kind == ElementKind::other ? ", which is not supported" : "");
  }
  if (type.kind == ElementKind::floating) return type.bytes == 2 ? DType::f16 : DType::f32;
  return type.bytes == 1 && !type.is_signed ? DType::u8 : DType::i32;
}

bool same_bytes(const Datatype& type) {
  const bool same_size = type.bytes == size_of(tensor_type(type));
  const bool unsigned_word =
      type.kind == ElementKind::integer && type.bytes == 4 && !type.is_signed;
  return same_size && !unsigned_word && (!type.big_endian || type.bytes == 1);
}

void decode_tensor(const Datatype& type, ByteSpan raw, Tensor& to) {
  PANDO_CHECK(raw.size() == static_cast<size_t>(to.elements()) * type.bytes);
  if (to.dtype() == DType::f16) {  // the bits stay, also those of NaN
    for (size_t i = 0; i < raw.size(); i += 2) {
      const auto bits = load_number<uint16_t>(raw.data() + i, type.big_endian);
      std::memcpy(to.data() + i, &bits, sizeof(bits));
    }
    return;
  }
  each_number(type, raw, [&](size_t i, auto value) {
    using Value = decltype(value);
    if constexpr (std::is_same_v<Value, float>) {
      to.f32()[i] = value;
    } else if constexpr (std::is_same_v<Value, double>) {
      to.f32()[i] = narrowed(value);
    } else if (to.dtype() == DType::u8) {
      to.u8()[i] = static_cast<uint8_t>(value);
    } else {
      to.i32()[i] = as_i32(value, type);
    }
  });
}

}  // namespace pando::store::hdf5
