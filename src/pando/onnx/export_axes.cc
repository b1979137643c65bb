// Shapes, joins, cuts and reductions.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/exporter_impl.h"
#include "pando/onnx/importer_impl.h"
#include "pando/ops/attribute_values.h"

namespace pando::onnx {
namespace {

std::string operand_name(const Exporter& exporter, const ir::Node& node, int i = 0) {
  return exporter.name_of(node.input(i));
}

// Our elements lie with the channels last.
void export_reshape(Exporter& exporter, const ir::Node& node) {
  const Shape& to = node.output()->shape();
  std::vector<int64_t> dims = {0};
  dims.insert(dims.end(), to.begin() + 1, to.end());
  const std::string shape = exporter.add_ints(node.name() + "/shape", dims);
  exporter.give_channels_last(
      node,
      exporter.emit_step(node, "Reshape", {exporter.channels_last(node, node.input(0)), shape}));
}

void export_transpose(Exporter& exporter, const ir::Node& node) {
  const ir::Ints perm = ops::ints_attribute(node, "perm");
  exporter.give_channels_last(
      node, exporter.emit_step(node, "Transpose", {exporter.channels_last(node, node.input(0))},
                               {attribute("perm", perm)}));
}

void export_concat(Exporter& exporter, const ir::Node& node) {
  std::vector<std::string> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) inputs.push_back(operand_name(exporter, node, i));
  const int64_t axis = file_axis(ops::int_attribute(node, "axis"), node.output()->shape().rank());
  exporter.emit(node, "Concat", inputs, {attribute("axis", axis)});
}

void export_slice(Exporter& exporter, const ir::Node& node) {
  const Shape& from = node.input(0)->shape();
  const ir::Ints begin = ops::ints_attribute(node, "begin"),
                 size = ops::ints_attribute(node, "size");
  const ir::Ints strides = ops::ints_attribute(node, "strides");
  std::vector<int64_t> starts, ends, axes, steps;
  for (int axis = 1; axis < from.rank(); ++axis) {
    const auto at = static_cast<size_t>(axis);
    const int64_t step = strides.empty() ? 1 : strides[at];
    if (begin[at] == 0 && size[at] == from[axis]) continue;
    starts.push_back(begin[at]);
    ends.push_back(begin[at] + (size[at] - 1) * step + 1);
    axes.push_back(file_axis(axis, from.rank()));
    steps.push_back(step);
  }
  const std::string x = operand_name(exporter, node);
  if (axes.empty()) return exporter.emit(node, "Identity", {x});
  if (exporter.opset() < 10) {
    for (const int64_t step : steps) {
      if (step != 1) return exporter.refuse(node, "steps need opset 10");
    }
    return exporter.emit(
        node, "Slice", {x},
        {attribute("starts", starts), attribute("ends", ends), attribute("axes", axes)});
  }
  exporter.emit(node, "Slice",
                {x, exporter.add_ints(node.name() + "/starts", starts),
                 exporter.add_ints(node.name() + "/ends", ends),
                 exporter.add_ints(node.name() + "/axes", axes),
                 exporter.add_ints(node.name() + "/steps", steps)});
}

void export_pad(Exporter& exporter, const ir::Node& node) {
  const int rank = node.input(0)->shape().rank();
  const ir::Ints low = ops::ints_attribute(node, "low"), high = ops::ints_attribute(node, "high");
  std::vector<int64_t> pads(2 * static_cast<size_t>(rank), 0);
  for (int axis = 1; axis < rank; ++axis) {
    const auto place = static_cast<size_t>(file_axis(axis, rank));
    pads[place] = low[static_cast<size_t>(axis)];
    pads[static_cast<size_t>(rank) + place] = high[static_cast<size_t>(axis)];
  }
  const std::string x = operand_name(exporter, node);
  if (exporter.opset() < 11) return exporter.emit(node, "Pad", {x}, {attribute("pads", pads)});
  exporter.emit(node, "Pad", {x, exporter.add_ints(node.name() + "/pads", pads)});
}

void export_depth_to_space(Exporter& exporter, const ir::Node& node) {
  const std::string mode = ops::text_attribute(node, "mode");
  const bool to_space = node.op() == "depth_to_space";
  if (mode != "DCR" && (!to_space || exporter.opset() < 11)) {
    return exporter.refuse(node, "mode CRD needs opset 11, and has no form for space to depth");
  }
  Exporter::Attributes attributes = {attribute("blocksize", ops::int_attribute(node, "block"))};
  if (mode != "DCR") attributes.push_back(attribute("mode", mode));
  exporter.emit(node, to_space ? "DepthToSpace" : "SpaceToDepth", {operand_name(exporter, node)},
                attributes);
}

// Before opset 13, all axes from the given one on are one.
void export_softmax(Exporter& exporter, const ir::Node& node) {
  const int64_t rank = node.output()->shape().rank();
  if (exporter.opset() >= 13 || rank < 3) {
    return exporter.emit(node, "Softmax", {operand_name(exporter, node)},
                         {attribute("axis", file_axis(rank - 1, rank))});
  }
  exporter.give_channels_last(
      node, exporter.emit_step(node, "Softmax", {exporter.channels_last(node, node.input(0))},
                               {attribute("axis", rank - 1)}));
}

void export_reduce(Exporter& exporter, const ir::Node& node) {
  static const std::map<std::string, std::string> kOps = {{"reduce_mean", "ReduceMean"},
                                                          {"reduce_sum", "ReduceSum"},
                                                          {"reduce_max", "ReduceMax"},
                                                          {"reduce_min", "ReduceMin"}};
  const int64_t keeps = ops::int_attribute(node, "keepdims");
  const ir::Ints axes = ops::ints_attribute(node, "axes");
  const bool as_input = node.op() == "reduce_sum" && exporter.opset() >= 13;
  std::vector<std::string> inputs = {exporter.channels_last(node, node.input(0))};
  Exporter::Attributes attributes = {attribute("keepdims", keeps)};
  if (as_input) inputs.push_back(exporter.add_ints(node.name() + "/axes", axes));
  if (!as_input) attributes.push_back(attribute("axes", axes));
  exporter.give_channels_last(node,
                              exporter.emit_step(node, kOps.at(node.op()), inputs, attributes));
}

void export_expand(Exporter& exporter, const ir::Node& node) {
  const Shape& to = node.output()->shape();
  const int64_t rank = to.rank();
  if (node.input(0)->shape().rank() != rank) {
    return exporter.refuse(node, "a repetition along new axes");
  }
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  for (int axis = 1; axis < rank; ++axis) {
    dims[static_cast<size_t>(file_axis(axis, rank))] = to[axis];
  }
  exporter.emit(node, "Expand",
                {operand_name(exporter, node), exporter.add_ints(node.name() + "/shape", dims)});
}

void export_gather(Exporter& exporter, const ir::Node& node) {
  const int64_t axis = file_axis(ops::int_attribute(node, "axis"), node.output()->shape().rank());
  const std::string indices =
      exporter.add_ints(node.name() + "/indices", ops::ints_attribute(node, "indices"));
  exporter.emit(node, "Gather", {operand_name(exporter, node), indices}, {attribute("axis", axis)});
}

// Arithmetic repeats a weight for all samples by itself.
bool repeats_samples(const ir::Node& reader) {
  static const std::set<std::string> kRepeating = {"add",      "subtract", "multiply",
                                                   "divide",   "maximum",  "minimum",
                                                   "to_power", "matmul",   "select"};
  return kRepeating.contains(reader.op());
}

void export_spread(Exporter& exporter, const ir::Node& node) {
  const Shape& to = node.output()->shape();
  const auto numbers = exporter.weight(node.input(1)).f32();
  Constant value{.dims = to.dims(), .is_real = true, .reals = {numbers.begin(), numbers.end()}};
  value.dims[0] = 1;
  std::vector<int64_t> dims(value.dims.size(), 1);
  Order perm(value.dims.size(), 0);
  for (int64_t axis = 1; axis < to.rank(); ++axis) {
    const auto place = static_cast<size_t>(file_axis(axis, to.rank()));
    perm[place] = axis;
    dims[place] = to[static_cast<int>(axis)];
  }
  const std::string weight =
      exporter.add_floats(node.input(1)->name(), dims, permuted(value, perm));
  const std::vector<ir::Node*> readers = exporter.graph().users(node.output());
  if (std::ranges::all_of(readers,
                          [](const ir::Node* reader) { return repeats_samples(*reader); }) &&
      !readers.empty()) {
    return exporter.give_constant(node, weight);
  }
  const std::string shape = exporter.emit_step(node, "Shape", {operand_name(exporter, node)});
  const std::string samples =
      exporter.emit_step(node, "Gather", {shape, exporter.add_ints(node.name() + "/first", {0})});
  const std::string rest = exporter.add_ints(node.name() + "/rest", {dims.begin() + 1, dims.end()});
  exporter.emit(node, "Expand",
                {weight, exporter.emit_step(node, "Concat", {samples, rest},
                                            {attribute("axis", int64_t{0})})});
}

}  // namespace

std::vector<OpExport> axis_exports() {
  return {{"reshape", export_reshape},
          {"transpose", export_transpose},
          {"concat", export_concat},
          {"slice", export_slice},
          {"pad", export_pad},
          {"depth_to_space", export_depth_to_space},
          {"space_to_depth", export_depth_to_space},
          {"softmax", export_softmax},
          {"reduce_mean", export_reduce},
          {"reduce_sum", export_reduce},
          {"reduce_max", export_reduce},
          {"reduce_min", export_reduce},
          {"expand", export_expand},
          {"pick", export_gather},
          {"spread", export_spread}};
}

}  // namespace pando::onnx
