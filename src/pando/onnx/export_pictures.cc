// Pooling, normalisation and resizing.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/onnx/exporter_impl.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/window.h"

namespace pando::onnx {
namespace {

void export_pool(Exporter& exporter, const ir::Node& node) {
  std::vector<int64_t> kernel, strides, pads, high;
  for (const ops::WindowAxis& axis : ops::pool_windows(node)) {
    kernel.push_back(axis.window);
    strides.push_back(axis.stride);
    pads.push_back(axis.pad_low);
    high.push_back(axis.pad_high);
  }
  // What ceil_mode adds is not padding.
  const bool ceil = ops::int_attribute(node, "ceil_mode") != 0;
  if (ceil && exporter.opset() < 10) return exporter.refuse(node, "ceil mode needs opset 10");
  if (ceil) {
    const ir::Ints given = ops::ints_attribute(node, "pads");
    for (size_t i = 0; i < high.size(); ++i) {
      high[i] = given.empty() ? 0 : given[high.size() + i];
    }
  }
  pads.insert(pads.end(), high.begin(), high.end());
  Exporter::Attributes attributes = {attribute("kernel_shape", kernel),
                                     attribute("strides", strides)};
  // ONNX Runtime 1.30 makes zeros in front of a pooling its padding, which is not one of zeros and
  // must be smaller than the window; not if the pooling names its padding in this way.
  const ir::Node* before = node.input(0)->producer();
  const bool follows_zeros = before != nullptr && before->op() == "pad";
  const std::string padding = ops::text_attribute(node, "padding");
  if (follows_zeros && !ceil && padding != "explicit") {
    attributes.push_back(
        attribute("auto_pad", std::string(padding == "same" ? "SAME_UPPER" : "VALID")));
  } else {
    attributes.push_back(attribute("pads", pads));
  }
  if (ceil) attributes.push_back(attribute("ceil_mode", int64_t{1}));
  exporter.emit(node, node.op() == "max_pool" ? "MaxPool" : "AveragePool",
                {exporter.name_of(node.input(0))}, attributes);
}

void export_global_pool(Exporter& exporter, const ir::Node& node) {
  const std::string op = node.op() == "global_max_pool" ? "GlobalMaxPool" : "GlobalAveragePool";
  const std::string pooled = exporter.emit_step(node, op, {exporter.name_of(node.input(0))});
  exporter.emit(node, "Flatten", {pooled}, {attribute("axis", int64_t{1})});
}

std::string vector_of(Exporter& exporter, const ir::Value* value) {
  const auto numbers = exporter.weight(value).f32();
  return exporter.add_floats(value->name(), value->shape().dims(),
                             {numbers.begin(), numbers.end()});
}

void export_batch_norm(Exporter& exporter, const ir::Node& node) {
  // gamma and beta come first in ONNX, the statistics in ours.
  const std::string gamma = vector_of(exporter, node.input(3));
  const std::string beta = vector_of(exporter, node.input(4));
  const std::string mean = vector_of(exporter, node.input(1));
  const std::string variance = vector_of(exporter, node.input(2));
  exporter.emit(node, "BatchNormalization",
                {exporter.name_of(node.input(0)), gamma, beta, mean, variance},
                {attribute("epsilon", ops::number_attribute(node, "epsilon"))});
}

void export_group_norm(Exporter& exporter, const ir::Node& node) {
  const Shape& shape = node.input(0)->shape();
  const int64_t groups = ops::int_attribute(node, "groups");
  const std::string x = exporter.name_of(node.input(0));
  const AttributeProto epsilon = attribute("epsilon", ops::number_attribute(node, "epsilon"));
  if (groups == shape.back()) {
    return exporter.emit(
        node, "InstanceNormalization",
        {x, vector_of(exporter, node.input(1)), vector_of(exporter, node.input(2))}, {epsilon});
  }
  if (ops::int_attribute(node, "strided") != 0) {
    return exporter.refuse(node, "strided groups have no form in ONNX");
  }
  // Each group is normalised as one channel; scale and offset of the channels follow.
  const auto each = static_cast<size_t>(groups);
  const std::string ones =
      exporter.add_floats(node.name() + "/ones", {groups}, std::vector<float>(each, 1));
  const std::string zeros =
      exporter.add_floats(node.name() + "/zeros", {groups}, std::vector<float>(each, 0));
  std::vector<int64_t> whole = {0, shape.back()};
  whole.insert(whole.end(), shape.begin() + 1, shape.end() - 1);
  const std::string grouped = exporter.emit_step(
      node, "Reshape", {x, exporter.add_ints(node.name() + "/groups", {0, groups, -1})});
  const std::string normal =
      exporter.emit_step(node, "InstanceNormalization", {grouped, ones, zeros}, {epsilon});
  const std::string back = exporter.emit_step(
      node, "Reshape", {normal, exporter.add_ints(node.name() + "/shape", whole)});
  std::vector<int64_t> dims(static_cast<size_t>(shape.rank()) - 1, 1);
  dims[0] = shape.back();
  const auto channels = [&](int input) {
    const auto numbers = exporter.weight(node.input(input)).f32();
    return exporter.add_floats(node.input(input)->name(), dims, {numbers.begin(), numbers.end()});
  };
  const std::string scaled = exporter.emit_step(node, "Mul", {back, channels(1)});
  exporter.emit(node, "Add", {scaled, channels(2)});
}

void export_layer_norm(Exporter& exporter, const ir::Node& node) {
  if (exporter.opset() < 17) return exporter.refuse(node, "layer normalisation needs opset 17");
  const int64_t axes = ops::int_attribute(node, "axes");
  const bool scale = ops::int_attribute(node, "scale") != 0;
  const bool center = ops::int_attribute(node, "center") != 0;
  std::vector<std::string> inputs = {exporter.channels_last(node, node.input(0))};
  const Shape& shape = node.input(0)->shape();
  const std::vector<int64_t> row(shape.end() - axes, shape.end());
  int64_t elements = 1;
  for (const int64_t extent : row) elements *= extent;
  if (scale) {
    inputs.push_back(vector_of(exporter, node.input(1)));
  } else {
    inputs.push_back(exporter.add_floats(node.name() + "/ones", row,
                                         std::vector<float>(static_cast<size_t>(elements), 1)));
  }
  if (center) inputs.push_back(vector_of(exporter, node.input(scale ? 2 : 1)));
  exporter.give_channels_last(
      node, exporter.emit_step(node, "LayerNormalization", inputs,
                               {attribute("axis", -axes),
                                attribute("epsilon", ops::number_attribute(node, "epsilon"))}));
}

// The extents of a result: samples and channels as they come, and new spatial ones.
std::string sizes_of(Exporter& exporter, const ir::Node& node) {
  const Shape& to = node.output()->shape();
  const std::string all = exporter.emit_step(node, "Shape", {exporter.name_of(node.input(0))});
  const std::string kept =
      exporter.emit_step(node, "Gather", {all, exporter.add_ints(node.name() + "/kept", {0, 1})});
  const std::string sizes =
      exporter.add_ints(node.name() + "/sizes", {to.begin() + 1, to.end() - 1});
  return exporter.emit_step(node, "Concat", {kept, sizes}, {attribute("axis", int64_t{0})});
}

// The coordinates in files before opset 19, which added half_pixel_symmetric: where an extent times
// its scale is a whole number it is half_pixel. Nothing: there is no form for it.
std::optional<std::string> coordinates_of(const ir::Node& node, const ir::Numbers* scales) {
  const std::string coordinates = ops::text_attribute(node, "coordinates");
  if (coordinates != "half_pixel_symmetric") return coordinates;
  for (size_t i = 0; scales != nullptr && i < scales->size(); ++i) {
    const auto axis = static_cast<int>(i) + 1;
    const auto to = static_cast<double>(node.output()->shape()[axis]);
    if (static_cast<double>(node.input(0)->shape()[axis]) * (*scales)[i] != to) return {};
  }
  return "half_pixel";
}

void export_resize(Exporter& exporter, const ir::Node& node) {
  if (exporter.opset() < 11) return exporter.refuse(node, "resizing needs opset 11");
  const Shape& from = node.input(0)->shape();
  const Shape& to = node.output()->shape();
  const auto* numbers = std::get_if<ir::Numbers>(&node.attributes().values().at("scales"));
  const bool scaled = numbers != nullptr && !numbers->empty();
  const std::optional<std::string> coordinates = coordinates_of(node, numbers);
  if (!coordinates) {
    return exporter.refuse(node, "half_pixel_symmetric with these scales needs opset 19");
  }
  const std::string region = exporter.add_floats(node.name() + "/region", {0}, {});
  std::vector<std::string> inputs = {exporter.name_of(node.input(0)), region};
  if (scaled) {
    std::vector<float> scales = {1, 1};
    for (const double scale : *numbers) scales.push_back(static_cast<float>(scale));
    inputs.push_back(exporter.add_floats(node.name() + "/scales", {std::ssize(scales)}, scales));
  } else {
    std::vector<float> scales = {1, 1};
    bool exact = true;
    for (int axis = 1; axis + 1 < from.rank(); ++axis) {
      const float scale = static_cast<float>(to[axis]) / static_cast<float>(from[axis]);
      scales.push_back(scale);
      exact = exact && static_cast<double>(scale) * static_cast<double>(from[axis]) ==
                           static_cast<double>(to[axis]);
    }
    if (exact) {
      inputs.push_back(exporter.add_floats(node.name() + "/scales", {std::ssize(scales)}, scales));
    } else {
      inputs.push_back(exporter.opset() < 13 ? region : std::string());  // no scales
      inputs.push_back(sizes_of(exporter, node));
    }
  }
  const std::string mode = ops::text_attribute(node, "mode");
  exporter.emit(node, "Resize", inputs,
                {attribute("mode", mode), attribute("coordinate_transformation_mode", *coordinates),
                 attribute("nearest_mode", ops::text_attribute(node, "nearest"))});
}

}  // namespace

std::vector<OpExport> picture_exports() {
  return {{"max_pool", export_pool},
          {"avg_pool", export_pool},
          {"global_avg_pool", export_global_pool},
          {"global_max_pool", export_global_pool},
          {"batch_norm", export_batch_norm},
          {"group_norm", export_group_norm},
          {"layer_norm", export_layer_norm},
          {"resize", export_resize}};
}

}  // namespace pando::onnx
