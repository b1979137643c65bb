// SPDX-License-Identifier: MIT
#include "pando/onnx/proto.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "pando/base/error.h"
#include "pando/tensor/half.h"

namespace pando::onnx {
namespace {

struct TypeFacts {
  ElementType type;
  const char* name;
  size_t bytes;
};

constexpr std::array<TypeFacts, 15> kTypes = {{{ElementType::undefined, "undefined", 0},
                                               {ElementType::f32, "float", 4},
                                               {ElementType::u8, "uint8", 1},
                                               {ElementType::i8, "int8", 1},
                                               {ElementType::u16, "uint16", 2},
                                               {ElementType::i16, "int16", 2},
                                               {ElementType::i32, "int32", 4},
                                               {ElementType::i64, "int64", 8},
                                               {ElementType::text, "string", 0},
                                               {ElementType::boolean, "bool", 1},
                                               {ElementType::f16, "float16", 2},
                                               {ElementType::f64, "double", 8},
                                               {ElementType::u32, "uint32", 4},
                                               {ElementType::u64, "uint64", 8},
                                               {ElementType::bf16, "bfloat16", 2}}};

const TypeFacts* facts_of(ElementType type) {
  const auto* found = std::ranges::find(kTypes, type, &TypeFacts::type);
  return found == kTypes.end() ? nullptr : found;
}

// Element `i` of little-endian numbers of type T, which need not be aligned.
template <typename T>
T element(std::span<const uint8_t> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T, typename Result>
std::vector<Result> converted(std::span<const uint8_t> bytes) {
  std::vector<Result> result(bytes.size() / sizeof(T));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<Result>(element<T>(bytes, i));
  return result;
}

// Integers of any width.
template <typename Result>
std::vector<Result> from_integers(const TensorProto& tensor) {
  switch (tensor.type) {
    case ElementType::u8:
    case ElementType::boolean: return converted<uint8_t, Result>(tensor.bytes);
    case ElementType::i8: return converted<int8_t, Result>(tensor.bytes);
    case ElementType::u16: return converted<uint16_t, Result>(tensor.bytes);
    case ElementType::i16: return converted<int16_t, Result>(tensor.bytes);
    case ElementType::i32: return converted<int32_t, Result>(tensor.bytes);
    case ElementType::u32: return converted<uint32_t, Result>(tensor.bytes);
    case ElementType::i64: return converted<int64_t, Result>(tensor.bytes);
    case ElementType::u64: return converted<uint64_t, Result>(tensor.bytes);
    default:
      throw InvalidArgument("tensor '", tensor.name, "': expected whole numbers, got ",
                            to_string(tensor.type));
  }
}

}  // namespace

std::string to_string(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  return facts != nullptr ? facts->name : concat("type ", static_cast<int32_t>(type));
}

size_t bytes_of(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  return facts != nullptr ? facts->bytes : 0;
}

bool is_floating(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::f64 ||
         type == ElementType::bf16;
}

int64_t TensorProto::elements() const {
  const size_t width = bytes_of(type);
  return width == 0 ? 0 : static_cast<int64_t>(bytes.size() / width);
}

std::vector<float> TensorProto::floats() const {
  switch (type) {
    case ElementType::f32: {
      std::vector<float> values(bytes.size() / sizeof(float));
      if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
      return values;
    }
    case ElementType::f64: return converted<double, float>(bytes);
    case ElementType::f16:
    case ElementType::bf16: {
      std::vector<float> values(bytes.size() / 2);
      for (size_t i = 0; i < values.size(); ++i) {
        const auto bits = element<uint16_t>(bytes, i);
        values[i] = type == ElementType::f16 ? from_f16(bits) : from_bf16(bits);
      }
      return values;
    }
    default: return from_integers<float>(*this);
  }
}

std::vector<int64_t> TensorProto::ints() const { return from_integers<int64_t>(*this); }

const AttributeProto* NodeProto::find(const std::string& attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &AttributeProto::name);
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace pando::onnx
