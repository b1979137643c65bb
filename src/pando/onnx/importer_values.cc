// Values of an import: their axes, their orders, and constants among computed values.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {

Order plain_order(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order channels_last_order(size_t rank) {
  Order order = plain_order(rank);
  if (rank > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<int64_t> Value::dims() const {
  if (constant) return constant->dims;
  std::vector<int64_t> dims(order.size(), 1);
  for (size_t i = 1; i < order.size(); ++i) {
    dims[static_cast<size_t>(order[i])] = computed->shape[static_cast<int>(i) - 1];
  }
  return dims;
}

Tensor weight_tensor(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(DType::f32, shape);
  PANDO_CHECK(tensor.f32().size() == values.size(), shape, " ", values.size());
  std::ranges::copy(values, tensor.f32().begin());
  return tensor;
}

std::vector<float> permuted(const Constant& constant, const Order& perm) {
  const std::vector<float> from = constant.as_reals();
  if (from.empty() || perm.empty()) return from;
  const std::vector<int64_t> strides = strides_of(constant.dims);
  std::vector<int64_t> dims, steps;
  for (const int64_t axis : perm) {
    dims.push_back(constant.dims[static_cast<size_t>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  std::vector<float> to(from.size());
  std::vector<int64_t> at(perm.size(), 0);
  const int64_t inner = dims.back();
  for (size_t row = 0; row < to.size(); row += static_cast<size_t>(inner)) {
    int64_t place = 0;
    for (size_t i = 0; i + 1 < at.size(); ++i) place += at[i] * steps[i];
    for (int64_t i = 0; i < inner; ++i) {
      to[row + static_cast<size_t>(i)] = from[static_cast<size_t>(place + i * steps.back())];
    }
    for (size_t i = at.size() - 1; i-- > 0;) {
      if (++at[i] < dims[i]) break;
      at[i] = 0;
    }
  }
  return to;
}

std::string layer_of_weight(const std::string& initializer) {
  for (const char* ending :
       {".weight", "/kernel", "/depthwise_kernel", "/gamma", "/scale", "/alpha"}) {
    if (initializer.ends_with(ending)) {
      return initializer.substr(0, initializer.size() - std::string_view(ending).size());
    }
  }
  return {};
}

int64_t Importer::axis(const NodeProto& node, int64_t axis, int64_t rank) const {
  return axis_of(node, axis, rank - lead_) + lead_;
}

std::vector<int64_t> Importer::file_dims(const Value& value) const {
  std::vector<int64_t> dims = value.dims();
  if (value.computed && lead_ > 0) dims.erase(dims.begin());
  return dims;
}

const Value& Importer::computed_operand(const NodeProto& node) const {
  const Value& value = operand(node, 0);
  if (!value.computed) throw Unsupported(label(node), ": a constant operand");
  return value;
}

Computed Importer::step(const NodeProto& node, const std::string& op,
                        const ir::Attributes& attributes, const std::vector<Computed>& inputs) {
  return apply(node, OpLayer{.class_name = node.op_type, .op = op, .attributes = attributes},
               inputs);
}

Computed Importer::math(const NodeProto& node, const std::string& function, const Computed& x) {
  return step(node, "math", {{"function", function}}, {x});
}

Computed Importer::scaled(const NodeProto& node, const Computed& x, double factor, double offset) {
  return step(node, "scale", {{"factor", factor}, {"offset", offset}}, {x});
}

Computed Importer::spread(const NodeProto& node, const Constant& constant, const Order& order,
                          bool trains) {
  Constant aligned = constant;
  while (aligned.dims.size() < order.size()) aligned.dims.insert(aligned.dims.begin(), 1);
  if (aligned.dims.size() > order.size() || aligned.dims[static_cast<size_t>(order[0])] != 1) {
    throw Unsupported(label(node), ": a constant with a number for each sample");
  }
  std::vector<int64_t> dims;
  for (size_t i = 1; i < order.size(); ++i) {
    dims.push_back(aligned.dims[static_cast<size_t>(order[i])]);
  }
  const Shape shape(dims);
  constexpr double kStays = 1;  // the momentum of a state that does not move
  nn::WeightSpec weight{"value", shape, Zeros()};
  if (!trains || !constant.is_real) weight.moving_momentum = kStays;
  return apply(node, OpLayer{.class_name = "Constant", .op = "spread", .weights = {weight}},
               {{inputs_.at(0), input_shape_}},
               {{"value", weight_tensor(shape, permuted(aligned, order))}});
}

Order Importer::common_order(const Value& a, const Value& b) const {
  const auto rank = [&](const Value& value) {
    return value.computed ? std::ssize(value.order) : value.constant->rank() + lead_;
  };
  bool first = rank(a) > rank(b) || (rank(a) == rank(b) && b.constant);
  if (rank(a) == rank(b) && a.computed && b.computed) {
    first = a.computed->shape.elements() >= b.computed->shape.elements();
  }
  const Value& chosen = first ? a : b;
  const bool is_plain = chosen.constant || chosen.flattened;
  return is_plain ? plain_order(static_cast<size_t>(rank(chosen))) : chosen.order;
}

Computed Importer::operand_in(const NodeProto& node, const Value& value, const Order& order) {
  if (value.constant) return spread(node, *value.constant, order);
  if (value.order.size() == order.size()) return ordered(value, order);
  if (value.order.size() > order.size() || lead_ == 0) {
    throw Unsupported(label(node), ": operands of ", value.order.size(), " and ", order.size(),
                      " axes, both computed");
  }
  const Computed x = plain(value);
  std::vector<int64_t> dims(x.shape.begin(), x.shape.end());
  while (dims.size() + 1 < order.size()) dims.insert(dims.begin(), 1);
  Value aligned;
  aligned.computed = reshaped(node, x, Shape(dims));
  aligned.order = plain_order(order.size());
  return ordered(aligned, order);
}

Computed Importer::reshaped(const NodeProto& node, const Computed& x, const Shape& shape) {
  if (x.shape == shape) return x;
  return apply(node,
               OpLayer{.class_name = "Reshape",
                       .op = "reshape",
                       .attributes = {{"shape", ir::Ints(shape.begin(), shape.end())}}},
               {x});
}

Computed Importer::ordered(const Value& value, const Order& order) {
  if (!value.computed) throw InternalError("a constant where a computed value is expected");
  if (value.flattened) {
    const Computed source = plain(*value.flattened);
    return reshaped(NodeProto{.op_type = "Reshape", .outputs = {"flatten"}}, source,
                    value.computed->shape);
  }
  if (value.order == order) return *value.computed;
  if (value.order[0] != order[0]) {
    throw Unsupported("a transposition of samples: axis ", value.order[0],
                      " of a value has them, expected axis ", order[0]);
  }
  Order perm;
  for (const int64_t axis : order) {
    perm.push_back(std::ranges::find(value.order, axis) - value.order.begin());
  }
  // Axes of one element may move without moving an element.
  std::vector<int64_t> moving;
  for (const int64_t i : perm) {
    if (i > 0 && value.computed->shape[static_cast<int>(i) - 1] != 1) moving.push_back(i);
  }
  std::vector<int64_t> extents;
  for (size_t i = 1; i < perm.size(); ++i) {
    extents.push_back(value.computed->shape[static_cast<int>(perm[i]) - 1]);
  }
  const NodeProto place{.op_type = "Transpose", .outputs = {"transpose"}};
  if (std::ranges::is_sorted(moving)) return reshaped(place, *value.computed, Shape(extents));
  return apply(
      place,
      OpLayer{.class_name = "Permute", .op = "transpose", .attributes = {{"perm", ir::Ints(perm)}}},
      {*value.computed});
}

// Drops the axis of samples, which has one element, and puts it back into the results.
void Importer::import_one_sample(const NodeProto& node,
                                 void (*import)(Importer&, const NodeProto&)) {
  NodeProto inner = node;
  for (std::string& input : inner.inputs) {
    if (input.empty() || !values_.contains(input) || !values_.at(input).computed) continue;
    const Value value = values_.at(input);
    const Computed x = plain(value);
    if (x.shape.rank() < 1 || x.shape[0] != 1) {
      throw Unsupported(label(node), ": the first axis of the file is that of samples");
    }
    Value sample;
    sample.computed = reshaped(node, x, Shape(std::vector(x.shape.begin() + 1, x.shape.end())));
    sample.order = plain_order(value.order.size() - 1);
    input += ":sample";
    values_.insert_or_assign(input, std::move(sample));
  }
  for (std::string& output : inner.outputs) {
    if (!output.empty()) output += ":sample";
  }
  lead_ = 0;
  import(*this, inner);
  lead_ = 1;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const auto found = values_.find(inner.outputs[i]);
    if (found == values_.end() || inner.outputs[i].empty()) continue;
    if (found->second.constant) {
      give(node, found->second, i);
      continue;
    }
    const Computed y = plain(found->second);
    std::vector<int64_t> dims = {1};
    dims.insert(dims.end(), y.shape.begin(), y.shape.end());
    give(node, reshaped(node, y, Shape(dims)), plain_order(dims.size() + 1), i);
  }
}

}  // namespace pando::onnx
