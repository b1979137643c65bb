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

// The place of axis `axis` of the file in the tensor.
int64_t place_of(const Value& value, int64_t axis) {
  return std::ranges::find(value.order, axis) - value.order.begin();
}

// Gives a computed value other extents, which are those of the file.
void give_shape(Importer& importer, const NodeProto& node, const std::vector<int64_t>& dims) {
  const Value& value = importer.computed_operand(node);
  if (importer.lead() == 0 && (dims.empty() || dims[0] != 1)) {
    throw Unsupported(label(node), ": a shape that mixes samples");
  }
  const Shape shape(std::vector<int64_t>(dims.begin() + 1 - importer.lead(), dims.end()));
  const bool is_plain = value.order == plain_order(value.order.size());
  if (value.flattened || is_plain || dims.size() != 2 || importer.lead() > 0) {
    const Computed x = importer.plain(value);
    return importer.give(node, importer.reshaped(node, x, shape),
                         plain_order(static_cast<size_t>(shape.rank()) + 1));
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
  give_shape(importer, node,
             resolve_shape(node, importer.file_dims(importer.operand(node, 0)), shape));
}

void import_flatten(Importer& importer, const NodeProto& node) {
  const std::vector<int64_t> dims = importer.file_dims(importer.operand(node, 0));
  int64_t axis = int_attribute(node, "axis", 1);
  if (axis < 0) axis += std::ssize(dims);
  if (axis < 0 || axis > std::ssize(dims) || (importer.lead() == 0 && axis != 1)) {
    throw Unsupported(label(node), ": expected axis 1, got ", axis);
  }
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, int64_t{1}, std::multiplies<>());
  };
  give_shape(
      importer, node,
      {product(dims.begin(), dims.begin() + axis), product(dims.begin() + axis, dims.end())});
}

// Squeeze removes axes of one element, so the order of the other axes stays.
void import_squeeze(Importer& importer, const NodeProto& node) {
  const Value& value = importer.computed_operand(node);
  const std::vector<int64_t> dims = value.dims();
  const auto rank = std::ssize(dims);
  std::vector<int64_t> axes = list_of(importer, node, "axes", 1);
  for (int64_t& axis : axes) axis = importer.axis(node, axis, rank);
  if (axes.empty()) {
    for (int64_t i = 0; i < rank; ++i) {
      if (i != value.order[0] && dims[static_cast<size_t>(i)] == 1) axes.push_back(i);
    }
  }
  Order order;
  std::vector<int64_t> shape;
  for (const int64_t axis : value.order) {
    const bool listed = std::ranges::find(axes, axis) != axes.end();
    if (listed && (axis == value.order[0] || dims[static_cast<size_t>(axis)] != 1)) {
      throw Unsupported(label(node), ": axis ", axis, " cannot be removed");
    }
    if (listed) continue;
    const auto before = std::ranges::count_if(axes, [&](int64_t gone) { return gone < axis; });
    order.push_back(axis - before);
    if (axis != value.order[0]) shape.push_back(dims[static_cast<size_t>(axis)]);
  }
  const Computed x = value.flattened ? importer.plain(value) : *value.computed;
  importer.give(node, importer.reshaped(node, x, Shape(shape)), order);
}

void import_unsqueeze(Importer& importer, const NodeProto& node) {
  const Value& value = importer.computed_operand(node);
  std::vector<int64_t> dims = value.dims();
  std::vector<int64_t> axes = list_of(importer, node, "axes", 1);
  const int64_t rank = std::ssize(dims) + std::ssize(axes);
  for (int64_t& axis : axes) axis = importer.axis(node, axis, rank);
  std::ranges::sort(axes);
  for (const int64_t axis : axes) {
    if (axis == 0) {
      throw Unsupported(label(node), ": expected new axes after the axis of samples, got axis 0");
    }
    dims.insert(dims.begin() + axis, 1);
  }
  const std::vector<int64_t> sample(dims.begin() + 1, dims.end());
  importer.give(node, importer.reshaped(node, importer.plain(value), Shape(sample)),
                plain_order(dims.size()));
}

// Only the names of the axes change.
void import_transpose(Importer& importer, const NodeProto& node) {
  const Value& value = importer.computed_operand(node);
  const auto rank = std::ssize(value.order);
  std::vector<int64_t> perm = ints_attribute(node, "perm");
  if (perm.empty()) {
    for (int64_t i = rank - importer.lead(); i-- > 0;) perm.push_back(i);
  }
  if (importer.lead() > 0) {
    for (int64_t& axis : perm) ++axis;
    perm.insert(perm.begin(), 0);
  }
  if (std::ssize(perm) != rank) {
    throw InvalidArgument(label(node), ": perm: expected ", rank, " axes, got ", perm.size());
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
  const Value* first = nullptr;  // that is computed
  for (size_t i = 0; i < node.inputs.size() && first == nullptr; ++i) {
    if (importer.known(node, i) == nullptr) first = &importer.operand(node, i);
  }
  if (first == nullptr) throw Unsupported(label(node), ": only constants");
  const Order order = first->flattened ? plain_order(first->order.size()) : first->order;
  std::vector<Computed> parts;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& part = importer.operand(node, i);
    const auto rank =
        part.constant ? part.constant->rank() + importer.lead() : std::ssize(part.order);
    if (rank != std::ssize(order)) {
      throw InvalidArgument(label(node), ": operands with different numbers of axes");
    }
    parts.push_back(importer.operand_in(node, part, order));
  }
  const int64_t axis = importer.axis(node, int_attribute(node, "axis", 1), std::ssize(order));
  if (axis == order[0]) throw Unsupported(label(node), ": samples side by side");
  const int64_t place = std::ranges::find(order, axis) - order.begin();
  const Computed y =
      parts.size() == 1
          ? parts[0]
          : importer.apply(
                node,
                {.class_name = "Concatenate", .op = "concat", .attributes = {{"axis", place}}},
                parts);
  importer.give(node, y, order);
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
  const Value& value = importer.computed_operand(node);
  const std::vector<int64_t> dims = value.dims();
  const std::vector<int64_t> starts = list_of(importer, node, "starts", 1);
  const std::vector<int64_t> ends = list_of(importer, node, "ends", 2);
  const std::vector<int64_t> axes = list_of(importer, node, "axes", 3);
  const std::vector<int64_t> steps =
      importer.has(node, 4) ? importer.need(node, 4, "steps").ints : std::vector<int64_t>();
  check_slice(node, {starts, ends, axes, steps});
  Computed x = value.flattened ? importer.plain(value) : *value.computed;
  ir::Ints size = with_batch(x.shape), begin(size.size(), 0), strides(size.size(), 1);
  bool cuts = false;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis =
        importer.axis(node, axes.empty() ? static_cast<int64_t>(i) : axes[i], std::ssize(dims));
    const auto at = static_cast<size_t>(place_of(value, axis));
    const SliceRange range = slice_range(node, dims[static_cast<size_t>(axis)], starts[i], ends[i],
                                         steps.empty() ? 1 : steps[i]);
    if (range.count < 1 || (axis == value.order[0] && range.count != 1)) {
      throw Unsupported(label(node),
                        ": expected a range that keeps every sample and at least one element");
    }
    if (range.step < 1) {  // backwards
      ir::Ints indices;
      for (int64_t k = 0; k < range.count; ++k) indices.push_back(range.begin + k * range.step);
      x = importer.step(node, "pick", {{"axis", static_cast<int64_t>(at)}, {"indices", indices}},
                        {x});
      size[at] = range.count;
      continue;
    }
    begin[at] = range.begin;
    size[at] = range.count;
    strides[at] = range.step;
    cuts = true;
  }
  importer.give(node, cuts ? cut(importer, node, x, begin, size, strides) : x, value.order);
}

void import_split(Importer& importer, const NodeProto& node) {
  const Value& value = importer.computed_operand(node);
  const std::vector<int64_t> dims = value.dims();
  const int64_t axis = importer.axis(node, int_attribute(node, "axis", 0), std::ssize(dims));
  if (axis == value.order[0]) throw Unsupported(label(node), ": a division of samples");
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

void import_depth_to_space(Importer& importer, const NodeProto& node) {
  const bool to_space = node.op_type == "DepthToSpace";
  const Value& value = importer.computed_operand(node);
  const Computed y = importer.apply(
      node,
      {.class_name = node.op_type,
       .op = to_space ? "depth_to_space" : "space_to_depth",
       .attributes = {{"block", int_attribute(node, "blocksize", 0)},
                      {"mode", to_space ? word_attribute(node, "mode", {"DCR", "CRD"})
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
          {"DepthToSpace", import_depth_to_space},
          {"SpaceToDepth", import_depth_to_space}};
}

}  // namespace pando::onnx
