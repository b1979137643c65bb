// SPDX-License-Identifier: MIT
#include "pando/onnx/constant.h"

#include <algorithm>

#include "pando/base/error.h"

namespace pando::onnx {

std::vector<float> Constant::as_reals() const {
  if (is_real) return reals;
  return {ints.begin(), ints.end()};
}

Constant Constant::of_ints(std::vector<int64_t> values) {
  return {.dims = {std::ssize(values)},
          .is_real = false,
          .reals = {},
          .ints = std::move(values),
          .type = ElementType::i64};
}

Constant Constant::of(const TensorProto& tensor) {
  Constant constant{.dims = tensor.dims,
                    .is_real = is_floating(tensor.type),
                    .reals = {},
                    .ints = {},
                    .type = tensor.type};
  if (constant.is_real) {
    constant.reals = tensor.floats();
  } else {
    constant.ints = tensor.ints();
  }
  return constant;
}

std::vector<int64_t> broadcast_dims(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> dims(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto from_end = [&](const std::vector<int64_t>& from) {
      return i < from.size() ? from[from.size() - 1 - i] : 1;
    };
    const int64_t x = from_end(a), y = from_end(b);
    if (x != y && x != 1 && y != 1) {
      throw InvalidArgument("shapes of ", a.size(), " and ", b.size(),
                            " axes: expected equal extents or 1, got ", x, " and ", y);
    }
    dims[dims.size() - 1 - i] = x == 1 ? y : x;
  }
  return dims;
}

namespace {

const AttributeProto* find_kind(const NodeProto& node, const std::string& name,
                                AttributeProto::Kind kind, const char* expected) {
  const AttributeProto* attribute = node.find(name);
  if (attribute == nullptr || attribute->kind == kind) return attribute;
  throw InvalidArgument(label(node), ": attribute ", name, ": expected ", expected);
}

}  // namespace

int64_t int_attribute(const NodeProto& node, const std::string& name, int64_t otherwise) {
  const auto* found = find_kind(node, name, AttributeProto::Kind::integer, "a whole number");
  return found != nullptr ? found->i : otherwise;
}

double real_attribute(const NodeProto& node, const std::string& name, double otherwise) {
  const auto* found = find_kind(node, name, AttributeProto::Kind::real, "a number");
  return found != nullptr ? static_cast<double>(found->f) : otherwise;
}

std::string text_attribute(const NodeProto& node, const std::string& name,
                           const std::string& otherwise) {
  const auto* found = find_kind(node, name, AttributeProto::Kind::text, "a text");
  return found != nullptr ? found->s : otherwise;
}

std::string word_attribute(const NodeProto& node, const std::string& name,
                           const std::vector<std::string>& words) {
  std::string word = text_attribute(node, name, words.front());
  if (std::ranges::find(words, word) != words.end()) return word;
  throw InvalidArgument(label(node), ": ", name, ": expected ", join(words, ", "), "; got '",
                        word.substr(0, 40), "'");
}

std::vector<int64_t> ints_attribute(const NodeProto& node, const std::string& name,
                                    std::vector<int64_t> otherwise) {
  const auto* found = find_kind(node, name, AttributeProto::Kind::integers, "whole numbers");
  return found != nullptr ? found->ints : std::move(otherwise);
}

std::string label(const NodeProto& node) {
  const std::string& name =
      node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  return concat(node.op_type, " '", name, "'");
}

int64_t axis_of(const NodeProto& node, int64_t axis, int64_t rank) {
  const int64_t positive = axis < 0 ? axis + rank : axis;
  if (positive >= 0 && positive < rank) return positive;
  throw InvalidArgument(label(node), ": axis: expected ", -rank, " to ", rank - 1, ", got ", axis);
}

}  // namespace pando::onnx
