// Tensors as JSON text.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "pando/base/error.h"
#include "pando/wire/json_tensor.h"

namespace pando::wire {
namespace {

constexpr size_t kLongestNumber = 24;

template <typename Number>
Number element_at(std::span<const std::byte> data, size_t index) {
  Number value;
  std::memcpy(&value, data.data() + index * sizeof(Number), sizeof(Number));
  return value;
}

void append_int(std::string& out, int value) {
  std::array<char, kLongestNumber> text;
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

void append_element(std::string& out, DType dtype, std::span<const std::byte> data, size_t index) {
  switch (dtype) {
    case DType::f32: return append_float(out, element_at<float>(data, index));
    case DType::u8: return append_int(out, element_at<uint8_t>(data, index));
    case DType::i32: return append_int(out, element_at<int32_t>(data, index));
    default: break;
  }
  throw InternalError("no JSON for elements of type ", to_string(dtype));
}

// Calls itself once for each dimension.
void append_lists(std::string& out, std::span<const int64_t> shape, DType dtype,
                  std::span<const std::byte> data, size_t& index) {
  if (shape.empty()) return append_element(out, dtype, data, index++);
  out += '[';
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (i > 0) out += ", ";
    append_lists(out, shape.subspan(1), dtype, data, index);
  }
  out += ']';
}

}  // namespace

void append_float(std::string& out, float value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  std::array<char, kLongestNumber> text;
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  out.append(text.data(), static_cast<size_t>(end - text.data()));
  const bool is_whole = std::none_of(static_cast<const char*>(text.data()), end,
                                     [](char c) { return c == '.' || c == 'e'; });
  if (is_whole) out += ".0";
}

void append_tensor(std::string& out, std::span<const int64_t> shape, DType dtype,
                   std::span<const std::byte> data) {
  size_t index = 0;
  append_lists(out, shape, dtype, data, index);
}

}  // namespace pando::wire
