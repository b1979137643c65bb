// SPDX-License-Identifier: MIT
#include "pando/tensor/dtype.h"

#include <array>
#include <string>
#include <vector>

#include "pando/base/error.h"

namespace pando {

namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  size_t size;
};

constexpr std::array<DTypeInfo, 5> kDTypes = {{{DType::f32, "f32", 4},
                                               {DType::f16, "f16", 2},
                                               {DType::bf16, "bf16", 2},
                                               {DType::u8, "u8", 1},
                                               {DType::i32, "i32", 4}}};

}  // namespace

size_t size_of(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].size; }

std::string_view to_string(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].name; }

DType parse_dtype(std::string_view name) {
  std::vector<std::string> known;
  for (const DTypeInfo& info : kDTypes) {
    if (info.name == name) return info.dtype;
    known.emplace_back(info.name);
  }
  throw InvalidArgument(unknown_name_message("dtype", name, known));
}

}  // namespace pando
