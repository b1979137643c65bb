// Ops that move elements: shapes, axes, joins and cuts.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

// Whole numbers that were an attribute in early opsets and are an operand since.
std::vector<int64_t> list_of(const Importer& importer, const NodeProto& node,
                             const std::string& attribute, size_t operand) {
  if (!importer.has(node, operand)) return ints_attribute(node, attribute);
  return importer.need(node, operand, attribute.c_str()).ints;
}

const Value& computed_operand(const Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  if (!value.computed) throw Unsupported(label(node), ": a constant operand");
  return value;
}

// The place of axis `axis` of the file in the tensor.
int64_t place_of(const Value& value, int64_t axis) {
  return std::ranges::find(value.order, axis) - value.order.begin();
}

// Gives a computed value other extents; the first is the batch.
void give_shape(Importer& importer, const NodeProto& node, const std::vector<int64_t>& dims) {
  const Value& value = computed_operand(importer, node);
  if (dims.empty() || dims[0] != 1) {
    throw Unsupported(label(node), ": a shape that mixes samples");
  }
  const Shape shape(std::vector<int64_t>(dims.begin() + 1, dims.end()));
  const bool is_plain = value.order == plain_order(value.order.size());
  if (value.flattened || is_plain || dims.size() != 2) {
    const Computed x = importer.plain(value);
    return importer.give(node, importer.reshaped(node, x, shape), plain_order(dims.size()));
  }
  // One axis of all elements, in the order in which they lie; whether that is the order of the file
  // matters only to some of those who read it.
  Value result;
  result.computed = importer.reshaped(node, *value.computed, shape);
  result.order = plain_order(2);
  const std::vector<int64_t> from = value.dims();
  const auto large = std::ranges::count_if(from, [](int64_t extent) { return extent != 1; });
  if (large > 1) result.flattened = std::make_shared<const Value>(value);
  importer.give(node, std::move(result));
}

void import_reshape(Importer& importer, const NodeProto& node) {
  const std::vector<int64_t> shape = list_of(importer, node, "shape", 1);
  give_shape(importer, node, resolve_shape(node, importer.operand(node, 0).dims(), shape));
}

void import_flatten(Importer& importer, const NodeProto& node) {
  const std::vector<int64_t> dims = importer.operand(node, 0).dims();
  const int64_t axis = int_attribute(node, "axis", 1);
  if (axis != 1 && axis != 1 - std::ssize(dims)) {
    throw Unsupported(label(node), ": expected axis 1, got ", axis);
  }
  give_shape(importer, node,
             {1, std::accumulate(dims.begin() + 1, dims.end(), int64_t{1}, std::multiplies<>())});
}

// The axes of one element that squeeze removes move nothing, so the order of the others stays.
void import_squeeze(Importer& importer, const NodeProto& node) {
  const Value& value = computed_operand(importer, node);
  const std::vector<int64_t> dims = value.dims();
  const auto rank = std::ssize(dims);
  std::vector<int64_t> axes = list_of(importer, node, "axes", 1);
  for (int64_t& axis : axes) axis = axis_of(node, axis, rank);
  if (axes.empty()) {
    for (int64_t i = 1; i < rank; ++i) {
      if (dims[static_cast<size_t>(i)] == 1) axes.push_back(i);
    }
  }
  Order order;
  std::vector<int64_t> shape;
  for (const int64_t axis : value.order) {
    const bool listed = std::ranges::find(axes, axis) != axes.end();
    if (listed && (axis == 0 || dims[static_cast<size_t>(axis)] != 1)) {
      throw Unsupported(label(node), ": axis ", axis, " cannot be removed");
    }
    if (listed) continue;
    const auto before = std::ranges::count_if(axes, [&](int64_t gone) { return gone < axis; });
    order.push_back(axis - before);
    if (axis != 0) shape.push_back(dims[static_cast<size_t>(axis)]);
  }
  const Computed x = value.flattened ? importer.plain(value) : *value.computed;
  importer.give(node, importer.reshaped(node, x, Shape(shape)), order);
}

void import_unsqueeze(Importer& importer, const NodeProto& node) {
  const Value& value = computed_operand(importer, node);
  std::vector<int64_t> dims = value.dims();
  std::vector<int64_t> axes = list_of(importer, node, "axes", 1);
  const int64_t rank = std::ssize(dims) + std::ssize(axes);
  for (int64_t& axis : axes) axis = axis_of(node, axis, rank);
  std::ranges::sort(axes);
  for (const int64_t axis : axes) {
    if (axis == 0) throw Unsupported(label(node), ": an axis before the samples");
    dims.insert(dims.begin() + axis, 1);
  }
  const std::vector<int64_t> sample(dims.begin() + 1, dims.end());
  importer.give(node, importer.reshaped(node, importer.plain(value), Shape(sample)),
                plain_order(dims.size()));
}

// Only the names of the axes change.
void import_transpose(Importer& importer, const NodeProto& node) {
  const Value& value = computed_operand(importer, node);
  const auto rank = std::ssize(value.order);
  std::vector<int64_t> perm = ints_attribute(node, "perm");
  if (perm.empty()) {
    for (int64_t i = rank; i-- > 0;) perm.push_back(i);
  }
  if (std::ssize(perm) != rank || perm[0] != 0) {
    throw Unsupported(label(node), ": a transposition of samples");
  }
  // Axis perm[i] of the operand is axis i of the result.
  Order order;
  for (const int64_t axis : value.order) {
    const auto found = std::ranges::find(perm, axis);
    if (found == perm.end()) throw InvalidArgument(label(node), ": perm lacks axis ", axis);
    order.push_back(found - perm.begin());
  }
  Value result = value;
  if (value.flattened) {
    result = Value();
    result.computed = importer.plain(value);
  }
  result.order = order;
  importer.give(node, std::move(result));
}

void import_concat(Importer& importer, const NodeProto& node) {
  std::vector<Computed> parts;
  const Value* first = nullptr;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (importer.known(node, i) != nullptr) {
      throw Unsupported(label(node), ": constants beside computed values");
    }
  }
  first = &importer.operand(node, 0);
  const Order order = first->flattened ? plain_order(first->order.size()) : first->order;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (importer.operand(node, i).order.size() != order.size()) {
      throw InvalidArgument(label(node), ": operands with different numbers of axes");
    }
    parts.push_back(importer.ordered(importer.operand(node, i), order));
  }
  const int64_t axis = axis_of(node, int_attribute(node, "axis", 1), std::ssize(order));
  if (axis == 0) throw Unsupported(label(node), ": samples side by side");
  const int64_t place = std::ranges::find(order, axis) - order.begin();
  importer.give(
      node,
      importer.apply(node,
                     {.class_name = "Concatenate", .op = "concat", .attributes = {{"axis", place}}},
                     parts),
      order);
}

Computed cut(Importer& importer, const NodeProto& node, const Computed& x, const ir::Ints& begin,
             const ir::Ints& size, const ir::Ints& strides) {
  return importer.apply(node,
                        {.class_name = "Slice",
                         .op = "slice",
                         .attributes = {{"begin", begin}, {"size", size}, {"strides", strides}}},
                        {x});
}

ir::Ints with_batch(const Shape& shape) {
  ir::Ints dims = {1};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return dims;
}

void import_slice(Importer& importer, const NodeProto& node) {
  const Value& value = computed_operand(importer, node);
  const std::vector<int64_t> dims = value.dims();
  const std::vector<int64_t> starts = list_of(importer, node, "starts", 1);
  const std::vector<int64_t> ends = list_of(importer, node, "ends", 2);
  const std::vector<int64_t> axes = list_of(importer, node, "axes", 3);
  const std::vector<int64_t> steps =
      importer.has(node, 4) ? importer.need(node, 4, "steps").ints : std::vector<int64_t>();
  const Computed x = value.flattened ? importer.plain(value) : *value.computed;
  ir::Ints size = with_batch(x.shape), begin(size.size(), 0), strides(size.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis =
        axis_of(node, axes.empty() ? static_cast<int64_t>(i) : axes.at(i), std::ssize(dims));
    const auto at = static_cast<size_t>(place_of(value, axis));
    const SliceRange range = slice_range(node, dims[static_cast<size_t>(axis)], starts[i],
                                         ends.at(i), steps.empty() ? 1 : steps.at(i));
    if (range.step < 1 || range.count < 1 || (axis == 0 && range.count != 1)) {
      throw Unsupported(label(node), ": backwards, nothing, or some samples");
    }
    begin[at] = range.begin;
    size[at] = range.count;
    strides[at] = range.step;
  }
  importer.give(node, cut(importer, node, x, begin, size, strides), value.order);
}

void import_split(Importer& importer, const NodeProto& node) {
  const Value& value = computed_operand(importer, node);
  const std::vector<int64_t> dims = value.dims();
  const int64_t axis = axis_of(node, int_attribute(node, "axis", 0), std::ssize(dims));
  if (axis == 0) throw Unsupported(label(node), ": a division of samples");
  const int64_t extent = dims[static_cast<size_t>(axis)];
  std::vector<int64_t> sizes = list_of(importer, node, "split", 1);
  const auto count = std::ssize(node.outputs);
  if (sizes.empty()) {
    const int64_t each = (extent + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) sizes.push_back(std::min(each, extent - i * each));
  }
  const Computed x = value.flattened ? importer.plain(value) : *value.computed;
  const auto at = static_cast<size_t>(place_of(value, axis));
  ir::Ints size = with_batch(x.shape), begin(size.size(), 0), strides(size.size(), 1);
  if (std::ssize(sizes) != count ||
      std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != extent) {
    throw InvalidArgument(label(node), ": the parts do not fill an axis of ", extent);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    size[at] = sizes[i];
    if (size[at] < 1) throw Unsupported(label(node), ": a part without elements");
    importer.give(node, cut(importer, node, x, begin, size, strides), value.order, i);
    begin[at] += sizes[i];
  }
}

// Zeros around the elements; negative numbers cut elements off.
void import_pad(Importer& importer, const NodeProto& node) {
  if (text_attribute(node, "mode", "constant") != "constant") {
    throw Unsupported(label(node), ": expected mode constant");
  }
  const double number = importer.has(node, 2) ? importer.need(node, 2, "the value").number(0)
                                              : real_attribute(node, "value", 0);
  if (number != 0) throw Unsupported(label(node), ": expected zeros, got ", number);
  if (importer.has(node, 3)) throw Unsupported(label(node), ": axes of their own");
  const Value& value = computed_operand(importer, node);
  const std::vector<int64_t> pads = list_of(importer, node, "pads", 1);
  const size_t rank = value.order.size();
  if (pads.size() != 2 * rank || pads[0] != 0 || pads[rank] != 0) {
    throw Unsupported(label(node), ": expected ", 2 * rank, " pads, 0 for the samples");
  }
  ir::Ints low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    low[i] = pads[static_cast<size_t>(value.order[i])];
    high[i] = pads[rank + static_cast<size_t>(value.order[i])];
    if (low[i] < 0 || high[i] < 0) throw Unsupported(label(node), ": negative pads");
  }
  const Computed x = value.flattened ? importer.plain(value) : *value.computed;
  importer.give(
      node,
      importer.apply(
          node,
          {.class_name = "ZeroPadding", .op = "pad", .attributes = {{"low", low}, {"high", high}}},
          {x}),
      value.order);
}

void import_depth_to_space(Importer& importer, const NodeProto& node) {
  const bool to_space = node.op_type == "DepthToSpace";
  const Value& value = computed_operand(importer, node);
  const Computed y =
      importer.apply(node,
                     {.class_name = node.op_type,
                      .op = to_space ? "depth_to_space" : "space_to_depth",
                      .attributes = {{"block", int_attribute(node, "blocksize", 0)},
                                     {"mode", to_space ? text_attribute(node, "mode", "DCR")
                                                       : std::string("DCR")}}},
                     {importer.channels_last(value)});
  importer.give(node, y, channels_last_order(value.order.size()));
}

}  // namespace

std::vector<OpImport> shape_imports() {
  return {{"Reshape", import_reshape},
          {"Flatten", import_flatten},
          {"Squeeze", import_squeeze},
          {"Unsqueeze", import_unsqueeze},
          {"Transpose", import_transpose},
          {"Concat", import_concat},
          {"Slice", import_slice},
          {"Split", import_split},
          {"Pad", import_pad},
          {"DepthToSpace", import_depth_to_space},
          {"SpaceToDepth", import_depth_to_space}};
}

}  // namespace pando::onnx
