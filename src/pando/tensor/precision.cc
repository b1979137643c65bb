// SPDX-License-Identifier: MIT
#include "pando/tensor/precision.h"

#include <array>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando {

namespace {

constexpr std::array<std::pair<std::string_view, Precision>, 5> kPrecisions = {{
    {"32.32", {DType::f32, DType::f32}},
    {"16.32", {DType::f16, DType::f32}},
    {"16.16", {DType::f16, DType::f16}},
    {"bf16.32", {DType::bf16, DType::f32}},
    {"bf16.16", {DType::bf16, DType::bf16}},
}};

}  // namespace

std::string to_string(const Precision& precision) {
  for (const auto& [name, known] : kPrecisions) {
    if (known == precision) return std::string(name);
  }
  return concat(to_string(precision.compute), ".", to_string(precision.update));
}

Precision parse_precision(std::string_view text) {
  for (const auto& [name, known] : kPrecisions) {
    if (name == text) return known;
  }
  throw InvalidArgument(unknown_name_message("precision", text, precision_names()));
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const auto& known : kPrecisions) names.emplace_back(known.first);
  return names;
}

}  // namespace pando
