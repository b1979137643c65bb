// Tensors whose elements are known when a file is imported, and the ops that give such tensors:
// exporters compute shapes with them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/onnx/proto.h"

namespace pando::onnx {

// Whole numbers are kept as such: shapes must stay exact.
struct Constant {
  std::vector<int64_t> dims;
  bool is_real = true;
  std::vector<float> reals;             // if is_real
  std::vector<int64_t> ints;            // otherwise; truth values are 0 and 1
  ElementType type = ElementType::f32;  // as in the file

  int64_t elements() const { return is_real ? std::ssize(reals) : std::ssize(ints); }
  int64_t rank() const { return std::ssize(dims); }
  double number(size_t i) const {
    return is_real ? static_cast<double>(reals[i]) : static_cast<double>(ints[i]);
  }
  std::vector<float> as_reals() const;

  static Constant of_ints(std::vector<int64_t> values);  // one axis
  static Constant of(const TensorProto& tensor);         // throws InvalidArgument for texts
};

inline constexpr int64_t kMostFoldedElements = int64_t{1} << 20;

// The results of a node whose operands are all known (null: an optional operand that is missing),
// or nothing if this op cannot be computed here. Throws InvalidArgument if the operands do not fit.
std::optional<std::vector<Constant>> fold(const NodeProto& node,
                                          const std::vector<const Constant*>& operands,
                                          int64_t opset);
// Whether `fold` knows the op.
bool can_fold(const std::string& op_type);

// The extents of a Reshape: 0 copies an extent, one -1 is what is left. Throws InvalidArgument if
// the numbers of elements differ.
std::vector<int64_t> resolve_shape(const NodeProto& node, const std::vector<int64_t>& from,
                                   std::vector<int64_t> to);

// The elements of one axis that a Slice takes. Negative bounds count from the end, and bounds
// beyond an end mean that end.
struct SliceRange {
  int64_t begin = 0;
  int64_t step = 1;
  int64_t count = 0;
};
SliceRange slice_range(const NodeProto& node, int64_t extent, int64_t start, int64_t end,
                       int64_t step);

// The operands of a Slice; axes and steps may be empty.
struct SliceLists {
  const std::vector<int64_t>& starts;
  const std::vector<int64_t>& ends;
  const std::vector<int64_t>& axes;
  const std::vector<int64_t>& steps;
};
// Throws InvalidArgument unless each start has its end and, if there are any, its axis and step.
void check_slice(const NodeProto& node, const SliceLists& lists);

// The distance of neighbours along each axis.
std::vector<int64_t> strides_of(const std::vector<int64_t>& dims);

// The extents to which two shapes are repeated, as in numpy. Throws InvalidArgument.
std::vector<int64_t> broadcast_dims(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// Attributes with their defaults. Throw InvalidArgument for an attribute of another kind.
int64_t int_attribute(const NodeProto& node, const std::string& name, int64_t otherwise);
double real_attribute(const NodeProto& node, const std::string& name, double otherwise);
std::string text_attribute(const NodeProto& node, const std::string& name,
                           const std::string& otherwise);
// One of these words; the first is the default. Throws InvalidArgument for another.
std::string word_attribute(const NodeProto& node, const std::string& name,
                           const std::vector<std::string>& words);
std::vector<int64_t> ints_attribute(const NodeProto& node, const std::string& name,
                                    std::vector<int64_t> otherwise = {});
// "Conv 'conv1'", or the name of its result if it has none.
std::string label(const NodeProto& node);
// The number of an axis, where negative numbers count from the end. Throws InvalidArgument.
int64_t axis_of(const NodeProto& node, int64_t axis, int64_t rank);

}  // namespace pando::onnx
