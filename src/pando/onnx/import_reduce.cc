// Softmax and reductions over axes.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {
namespace {

// Before opset 13, the axes from `axis` on are one; since then only that axis counts.
void import_softmax(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  const auto rank = std::ssize(value.order);
  const bool joined = importer.opset() < 13;
  const int64_t axis = axis_of(node, int_attribute(node, "axis", joined ? 1 : -1), rank);
  if (axis == 0) throw Unsupported(label(node), ": a softmax over samples");
  const std::vector<int64_t> dims = value.dims();
  const bool others =
      std::any_of(dims.begin() + axis + 1, dims.end(), [](int64_t extent) { return extent != 1; });
  const OpLayer softmax{.class_name = "Softmax", .op = "softmax"};
  if (joined && others) {
    const Computed x = importer.plain(value);
    std::vector<int64_t> flat(dims.begin() + 1, dims.begin() + axis);
    int64_t rest = 1;
    for (auto extent = dims.begin() + axis; extent != dims.end(); ++extent) rest *= *extent;
    flat.push_back(rest);
    const Computed y = importer.apply(node, softmax, {importer.reshaped(node, x, Shape(flat))});
    return importer.give(node, importer.reshaped(node, y, x.shape), plain_order(dims.size()));
  }
  Order order = value.flattened ? plain_order(dims.size()) : value.order;
  if (order.back() != axis) {
    order.erase(std::ranges::find(order, axis));
    order.push_back(axis);
  }
  importer.give(node, importer.apply(node, softmax, {importer.ordered(value, order)}), order);
}

void import_reduce(Importer& importer, const NodeProto& node) {
  const Value& value = importer.operand(node, 0);
  const auto rank = std::ssize(value.order);
  std::vector<int64_t> axes =
      importer.has(node, 1) ? importer.need(node, 1, "axes").ints : ints_attribute(node, "axes");
  if (axes.empty()) throw Unsupported(label(node), ": a reduction over samples");
  for (int64_t& axis : axes) {
    axis = axis_of(node, axis, rank);
    if (axis == 0) throw Unsupported(label(node), ": a reduction over samples");
  }
  static const std::map<std::string, std::string> kOps = {{"ReduceMean", "reduce_mean"},
                                                          {"ReduceSum", "reduce_sum"},
                                                          {"ReduceMax", "reduce_max"},
                                                          {"ReduceMin", "reduce_min"}};
  const bool keeps = int_attribute(node, "keepdims", 1) != 0;
  const Order from = value.flattened ? plain_order(value.order.size()) : value.order;
  const Computed x = importer.ordered(value, from);
  ir::Ints places;
  Order order;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool listed = std::ranges::find(axes, from[i]) != axes.end();
    if (listed) places.push_back(static_cast<int64_t>(i));
    if (listed && !keeps) continue;
    const auto gone =
        keeps ? 0 : std::ranges::count_if(axes, [&](int64_t axis) { return axis < from[i]; });
    order.push_back(from[i] - gone);
  }
  const Computed y =
      importer.apply(node,
                     {.class_name = "Reduce",
                      .op = kOps.at(node.op_type),
                      .attributes = {{"axes", places}, {"keepdims", int64_t{keeps ? 1 : 0}}}},
                     {x});
  importer.give(node, y, order);
}

}  // namespace

std::vector<OpImport> reduce_imports() {
  return {{"Softmax", import_softmax},
          {"ReduceMean", import_reduce},
          {"ReduceSum", import_reduce},
          {"ReduceMax", import_reduce},
          {"ReduceMin", import_reduce}};
}

}  // namespace pando::onnx
