// SPDX-License-Identifier: MIT
#include "pando/serve/servable.h"

#include <algorithm>

namespace pando::serve {

size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
    case ElementType::i32: return 4;
    case ElementType::f16:
    case ElementType::bf16: return 2;
    case ElementType::u8: return 1;
    case ElementType::bytes: return 0;
  }
  return 0;
}

std::string_view to_string(ElementType type) {
  switch (type) {
    case ElementType::f32: return "f32";
    case ElementType::f16: return "f16";
    case ElementType::bf16: return "bf16";
    case ElementType::u8: return "u8";
    case ElementType::i32: return "i32";
    case ElementType::bytes: return "bytes";
  }
  return "";
}

ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return ElementType::f32;
    case DType::f16: return ElementType::f16;
    case DType::bf16: return ElementType::bf16;
    case DType::u8: return ElementType::u8;
    case DType::i32: return ElementType::i32;
  }
  return ElementType::f32;
}

std::string_view to_string(InputKind kind) {
  switch (kind) {
    case InputKind::tensors: return "tensors";
    case InputKind::images: return "images";
    case InputKind::bytes: return "bytes";
  }
  return "";
}

const TensorInfo* Servable::find_input(std::string_view name) const {
  if (name.empty()) return inputs_.size() == 1 ? &inputs_[0] : nullptr;
  for (const TensorInfo& input : inputs_) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

std::optional<std::vector<int64_t>> Servable::accepted_shape(const TensorInfo& input,
                                                             ElementType type) const {
  const TensorInfo* own = nullptr;
  for (const TensorInfo& candidate : network_inputs_) {
    if (candidate.name == input.name) own = &candidate;
  }
  if (own == nullptr) return std::nullopt;
  if (type == own->type) return own->shape;
  // A network with several inputs has no preparation of pictures.
  if (!facts_.pictures || network_inputs_.size() != 1) return std::nullopt;
  if (type == ElementType::u8) return own->shape;
  if (type == ElementType::bytes) return std::vector<int64_t>{own->shape[0]};
  return std::nullopt;
}

bool Servable::takes(const TensorInfo& input, ElementType type,
                     const std::vector<int64_t>& shape) const {
  const auto expected = accepted_shape(input, type);
  return expected && shape.size() == expected->size() && shape[0] >= 1 &&
         shape[0] <= max_request_samples_ &&
         std::equal(shape.begin() + 1, shape.end(), expected->begin() + 1);
}

}  // namespace pando::serve
