// Ops on constants: what their functions share.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pando/base/error.h"
#include "pando/onnx/constant.h"

namespace pando::onnx {

// A node with its operands.
struct Folding {
  const NodeProto& node;
  const std::vector<const Constant*>& operands;
  int64_t opset;

  bool has(size_t i) const { return i < operands.size() && operands[i] != nullptr; }
  const Constant& operator[](size_t i) const {
    if (has(i)) return *operands[i];
    throw InvalidArgument(label(node), ": operand ", i, " is missing");
  }
  // Whole numbers that were an attribute in early opsets and are an operand since.
  std::vector<int64_t> list(const std::string& attribute, size_t operand) const {
    if (!has(operand)) return ints_attribute(node, attribute);
    const Constant& given = *operands[operand];
    if (given.is_real)
      throw InvalidArgument(label(node), ": ", attribute, ": expected whole numbers");
    return given.ints;
  }
};

using Fold = std::function<Constant(const Folding&)>;
// Ops that move elements.
std::map<std::string, Fold> movement_folds();

// The product of the extents. Throws InvalidArgument beyond kMostFoldedElements.
int64_t elements_of(const NodeProto& node, const std::vector<int64_t>& dims);
// Repeats a constant to larger extents.
Constant expanded(const NodeProto& node, const Constant& from, const std::vector<int64_t>& dims);

}  // namespace pando::onnx
