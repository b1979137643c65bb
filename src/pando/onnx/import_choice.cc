// Ops that pick or repeat elements by numbers that the file knows.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

constexpr int64_t kMostPicked = int64_t{1} << 20;

const Value& picked_operand(const Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  if (!value.computed) throw Unsupported(label(node), ": constants at computed places");
  return value;
}

int64_t checked_index(const NodeProto& node, int64_t index, int64_t extent) {
  const int64_t positive = index < 0 ? index + extent : index;
  if (positive >= 0 && positive < extent) return positive;
  throw InvalidArgument(label(node), ": index ", index, " of an axis of ", extent);
}

Computed gathered(Importer& importer, const NodeProto& node, const Computed& x, int64_t axis,
                  ir::Ints indices) {
  if (indices.empty() || std::ssize(indices) > kMostPicked) {
    throw Unsupported(label(node), ": expected 1 to ", kMostPicked, " indices, got ",
                      indices.size());
  }
  return importer.step(node, "pick", {{"axis", axis}, {"indices", std::move(indices)}}, {x});
}

void import_gather(Importer& importer, const NodeProto& node) {
  const Value& value = picked_operand(importer, node);
  const Constant& indices = importer.need(node, 1, "the indices");
  const std::vector<int64_t> dims = value.dims();
  const int64_t axis = importer.axis(node, int_attribute(node, "axis", 0), std::ssize(dims));
  if (axis == 0) throw Unsupported(label(node), ": a choice of samples");
  ir::Ints places;
  for (const int64_t index : indices.ints) {
    places.push_back(checked_index(node, index, dims[static_cast<size_t>(axis)]));
  }
  const Computed y = gathered(importer, node, importer.plain(value), axis, std::move(places));
  std::vector<int64_t> result(dims.begin() + 1, dims.begin() + axis);
  result.insert(result.end(), indices.dims.begin(), indices.dims.end());
  result.insert(result.end(), dims.begin() + axis + 1, dims.end());
  importer.give(node, importer.reshaped(node, y, Shape(result)), plain_order(result.size() + 1));
}

// Picks single elements of all of a sample, at places in the order of the file.
void give_elements(Importer& importer, const NodeProto& node, const Value& value, ir::Ints places,
                   const std::vector<int64_t>& dims) {
  const Computed x = importer.plain(value);
  const Computed flat = importer.reshaped(node, x, {x.shape.elements()});
  const Computed y = gathered(importer, node, flat, 1, std::move(places));
  importer.give(node, importer.reshaped(node, y, Shape(dims)), plain_order(dims.size() + 1));
}

void require_no_batch(const Importer& importer, const NodeProto& node) {
  if (importer.lead() == 0) throw Unsupported(label(node), ": places that differ by sample");
}

void import_gather_elements(Importer& importer, const NodeProto& node) {
  require_no_batch(importer, node);
  const Value& value = picked_operand(importer, node);
  const Constant& indices = importer.need(node, 1, "the indices");
  const std::vector<int64_t> dims = importer.file_dims(value);
  const auto axis =
      static_cast<size_t>(axis_of(node, int_attribute(node, "axis", 0), std::ssize(dims)));
  if (indices.is_real || indices.dims.size() != dims.size()) {
    throw InvalidArgument(label(node), ": expected whole numbers of ", dims.size(),
                          " axes as indices");
  }
  const std::vector<int64_t> strides = strides_of(dims);
  ir::Ints places;
  for (int64_t i = 0; i < indices.elements(); ++i) {
    int64_t rest = i, place = 0;
    for (size_t at = dims.size(); at-- > 0;) {
      const int64_t own = rest % indices.dims[at];
      rest /= indices.dims[at];
      place += strides[at] *
               (at == axis ? checked_index(node, indices.ints[static_cast<size_t>(i)], dims[at])
                           : checked_index(node, own, dims[at]));
    }
    places.push_back(place);
  }
  give_elements(importer, node, value, std::move(places), indices.dims);
}

void import_gather_nd(Importer& importer, const NodeProto& node) {
  require_no_batch(importer, node);
  if (int_attribute(node, "batch_dims", 0) != 0) throw Unsupported(label(node), ": batch_dims");
  const Value& value = picked_operand(importer, node);
  const Constant& indices = importer.need(node, 1, "the indices");
  const std::vector<int64_t> dims = importer.file_dims(value);
  const auto depth = static_cast<size_t>(indices.dims.empty() ? 0 : indices.dims.back());
  if (depth < 1 || depth > dims.size()) {
    throw InvalidArgument(label(node), ": indices: expected 1 to ", dims.size(), " for an element");
  }
  const std::vector<int64_t> strides = strides_of(dims);
  if (std::ssize(indices.ints) / static_cast<int64_t>(depth) > kMostPicked / strides[depth - 1]) {
    throw Unsupported(label(node), ": expected at most ", kMostPicked, " elements");
  }
  ir::Ints places;
  for (size_t i = 0; i + depth <= indices.ints.size(); i += depth) {
    int64_t first = 0;
    for (size_t at = 0; at < depth; ++at) {
      first += checked_index(node, indices.ints[i + at], dims[at]) * strides[at];
    }
    for (int64_t k = 0; k < strides[depth - 1]; ++k) places.push_back(first + k);
  }
  std::vector<int64_t> result(indices.dims.begin(), indices.dims.end() - 1);
  result.insert(result.end(), dims.begin() + static_cast<std::ptrdiff_t>(depth), dims.end());
  give_elements(importer, node, value, std::move(places), result);
}

void import_tile(Importer& importer, const NodeProto& node) {
  const Value& value = picked_operand(importer, node);
  const std::vector<int64_t>& repeats = importer.need(node, 1, "the repeats").ints;
  const std::vector<int64_t> dims = importer.file_dims(value);
  if (repeats.size() != dims.size()) {
    throw InvalidArgument(label(node), ": expected ", dims.size(), " repeats, got ",
                          repeats.size());
  }
  Computed x = importer.plain(value);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] == 1) continue;
    const int64_t axis = static_cast<int64_t>(i) + importer.lead();
    if (axis == 0 || repeats[i] < 1 || repeats[i] > kMostPicked / dims[i]) {
      throw Unsupported(label(node), ": ", repeats[i], " repeats of axis ", i);
    }
    ir::Ints indices;
    for (int64_t k = 0; k < repeats[i] * dims[i]; ++k) indices.push_back(k % dims[i]);
    x = gathered(importer, node, x, axis, std::move(indices));
  }
  importer.give(node, x, plain_order(value.order.size()));
}

void import_expand(Importer& importer, const NodeProto& node) {
  const Value& value = picked_operand(importer, node);
  const Constant& shape = importer.need(node, 1, "the shape");
  std::vector<int64_t> dims = broadcast_dims(importer.file_dims(value), shape.ints);
  if (importer.lead() > 0) dims.insert(dims.begin(), 1);
  if (dims.empty() || dims[0] != 1) throw Unsupported(label(node), ": samples are repeated");
  const Order order = plain_order(dims.size());
  const Computed x = importer.operand_in(node, value, order);
  const Shape result(std::vector(dims.begin() + 1, dims.end()));
  const Computed y =
      x.shape == result ? x : importer.step(node, "expand", {{"shape", ir::Ints(dims)}}, {x});
  importer.give(node, y, order);
}

bool is_zero(const Value& value) {
  if (!value.constant) return false;
  const std::vector<float> numbers = value.constant->as_reals();
  return std::ranges::all_of(numbers, [](float number) { return number == 0; });
}

// The condition is known.
void import_where(Importer& importer, const NodeProto& node) {
  const Constant& holds = importer.need(node, 0, "the condition");
  const Value a = importer.operand(node, 1), b = importer.operand(node, 2);
  std::vector<int64_t> dims = holds.dims;
  for (const Value* value : {&a, &b}) dims = broadcast_dims(dims, importer.file_dims(*value));
  if (importer.lead() > 0) dims.insert(dims.begin(), 1);
  const Order order = plain_order(dims.size());
  const Shape shape(std::vector(dims.begin() + 1, dims.end()));
  const auto whole = [&](const Computed& x) {
    return x.shape == shape ? x : importer.step(node, "expand", {{"shape", ir::Ints(dims)}}, {x});
  };
  const auto operand = [&](const Value& value) {
    return whole(value.constant ? importer.spread(node, *value.constant, order, false)
                                : importer.operand_in(node, value, order));
  };
  std::vector<Computed> operands = {whole(importer.spread(node, holds, order, false))};
  const bool only_b = is_zero(a);
  if (!only_b) operands.push_back(operand(a));
  if (only_b || !is_zero(b)) operands.push_back(operand(b));
  const std::string when = only_b ? "fails" : "holds";
  importer.give(node, importer.step(node, "select", {{"when", when}}, operands), order);
}

}  // namespace

std::vector<OpImport> choice_imports() {
  return {{"Gather", import_gather},      {"GatherElements", import_gather_elements},
          {"GatherND", import_gather_nd}, {"Tile", import_tile},
          {"Expand", import_expand},      {"Where", import_where}};
}

}  // namespace pando::onnx
