// Softmax and reductions over axes.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"

namespace pando::onnx {

// The largest element is taken off first, so that no exponential overflows.
Computed log_softmax(Importer& importer, const NodeProto& node, const Computed& x) {
  const ir::Attributes last = {{"axes", ir::Ints{x.shape.rank()}}, {"keepdims", int64_t{1}}};
  const Computed largest = importer.step(node, "reduce_max", last, {x});
  const Computed rest = importer.step(node, "subtract", {}, {x, largest});
  const Computed sum = importer.step(node, "reduce_sum", last, {importer.math(node, "exp", rest)});
  return importer.step(node, "subtract", {}, {rest, importer.math(node, "log", sum)});
}

namespace {

// Before opset 13, the axes from `axis` on are one; since then only that axis counts.
void import_softmax(Importer& importer, const NodeProto& node) {
  const Value& value = importer.computed_operand(node);
  const auto rank = std::ssize(value.order);
  const bool joined = importer.opset() < 13;
  const int64_t axis = importer.axis(node, int_attribute(node, "axis", joined ? 1 : -1), rank);
  if (axis == value.order[0]) throw Unsupported(label(node), ": a softmax over samples");
  const std::vector<int64_t> dims = value.dims();
  const auto softmax = [&](const Computed& x) {
    if (node.op_type == "LogSoftmax") return log_softmax(importer, node, x);
    return importer.apply(node, {.class_name = "Softmax", .op = "softmax"}, {x});
  };
  const bool others =
      std::any_of(dims.begin() + axis + 1, dims.end(), [](int64_t extent) { return extent != 1; });
  if (joined && others) {
    const Computed x = importer.plain(value);
    std::vector<int64_t> flat(dims.begin() + 1, dims.begin() + axis);
    int64_t rest = 1;
    for (auto extent = dims.begin() + axis; extent != dims.end(); ++extent) rest *= *extent;
    flat.push_back(rest);
    const Computed y = softmax(importer.reshaped(node, x, Shape(flat)));
    return importer.give(node, importer.reshaped(node, y, x.shape), plain_order(dims.size()));
  }
  Order order = value.flattened ? plain_order(dims.size()) : value.order;
  if (order.back() != axis) {
    order.erase(std::ranges::find(order, axis));
    order.push_back(axis);
  }
  importer.give(node, softmax(importer.ordered(value, order)), order);
}

struct Reduction {
  const char* op;
  const char* before = "";  // a function of each element; "square" and "shifted exp" too
  const char* after = "";   // a function of each result
};

const Reduction& reduction_of(const NodeProto& node) {
  static const std::map<std::string, Reduction> kReductions = {
      {"ReduceMean", {"reduce_mean"}},
      {"ReduceSum", {"reduce_sum"}},
      {"ReduceMax", {"reduce_max"}},
      {"ReduceMin", {"reduce_min"}},
      {"ReduceL1", {"reduce_sum", "abs"}},
      {"ReduceL2", {"reduce_sum", "square", "sqrt"}},
      {"ReduceSumSquare", {"reduce_sum", "square"}},
      {"ReduceLogSum", {"reduce_sum", "", "log"}},
      {"ReduceLogSumExp", {"reduce_sum", "shifted exp", "log"}}};
  return kReductions.at(node.op_type);
}

// The axes of the computed value that a node reduces.
std::vector<int64_t> reduced_axes(const Importer& importer, const NodeProto& node,
                                  const Order& order) {
  const auto rank = std::ssize(order);
  std::vector<int64_t> axes =
      importer.has(node, 1) ? importer.need(node, 1, "axes").ints : ints_attribute(node, "axes");
  for (int64_t& axis : axes) axis = importer.axis(node, axis, rank);
  const bool all = axes.empty() && int_attribute(node, "noop_with_empty_axes", 0) == 0;
  for (int64_t i = importer.lead(); all && i < rank; ++i) axes.push_back(i);
  if (std::ranges::find(axes, order[0]) != axes.end()) {
    throw Unsupported(label(node), ": a reduction over samples");
  }
  return axes;
}

Computed reduced(Importer& importer, const NodeProto& node, Computed x, const ir::Ints& places,
                 bool keeps) {
  const auto reduce = [&](const std::string& op, const Computed& of, bool keep) {
    return importer.apply(node,
                          {.class_name = "Reduce",
                           .op = op,
                           .attributes = {{"axes", places}, {"keepdims", int64_t{keep ? 1 : 0}}}},
                          {of});
  };
  const Reduction& reduction = reduction_of(node);
  const std::string before = reduction.before, after = reduction.after;
  std::optional<Computed> largest;  // is taken off first, so that no exponential overflows
  if (before == "square") {
    x = importer.step(node, "multiply", {}, {x, x});
  } else if (before == "shifted exp") {
    largest = reduce("reduce_max", x, true);
    x = importer.math(node, "exp", importer.step(node, "subtract", {}, {x, *largest}));
  } else if (!before.empty()) {
    x = importer.math(node, before, x);
  }
  Computed y = reduce(reduction.op, x, keeps);
  if (!after.empty()) y = importer.math(node, after, y);
  if (largest) {
    y = importer.step(node, "add", {}, {y, importer.reshaped(node, *largest, y.shape)});
  }
  return y;
}

void import_reduce(Importer& importer, const NodeProto& node) {
  const Value& value = importer.computed_operand(node);
  const std::vector<int64_t> axes = reduced_axes(importer, node, value.order);
  if (axes.empty()) return importer.give(node, value);
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
  importer.give(node, reduced(importer, node, x, places, keeps), order);
}

}  // namespace

std::vector<OpImport> reduce_imports() {
  return {{"Softmax", import_softmax},        {"LogSoftmax", import_softmax},
          {"ReduceL1", import_reduce},        {"ReduceL2", import_reduce},
          {"ReduceSumSquare", import_reduce}, {"ReduceLogSum", import_reduce},
          {"ReduceLogSumExp", import_reduce}, {"ReduceMean", import_reduce},
          {"ReduceSum", import_reduce},       {"ReduceMax", import_reduce},
          {"ReduceMin", import_reduce}};
}

}  // namespace pando::onnx
