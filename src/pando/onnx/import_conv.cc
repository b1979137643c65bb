// Convolutions and transposed convolutions.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/onnx/importer_impl.h"
#include "pando/onnx/windows_impl.h"

namespace pando::onnx {
namespace {

const std::vector<std::string> kPadding = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};

}  // namespace

WindowAttributes window_attributes(const NodeProto& node, const std::vector<int64_t>& extents,
                                   const std::vector<int64_t>& window) {
  const size_t axes = extents.size();
  const ir::Ints ones(axes, 1);
  WindowAttributes found{.window = ints_attribute(node, "kernel_shape", window),
                         .strides = ints_attribute(node, "strides", ones),
                         .dilations = ints_attribute(node, "dilations", ones),
                         .pads = ints_attribute(node, "pads", ir::Ints(2 * axes, 0))};
  const auto positive = [](const ir::Ints& list) {
    return std::ranges::all_of(list, [](int64_t value) { return value > 0 && value < 1 << 24; });
  };
  if (found.window.size() != axes || found.strides.size() != axes ||
      found.dilations.size() != axes || found.pads.size() != 2 * axes || !positive(found.window) ||
      !positive(found.strides) || !positive(found.dilations)) {
    throw InvalidArgument(label(node), ": expected a window, strides and dilations of ", axes,
                          " positive numbers, and twice as many pads");
  }
  const std::string automatic = word_attribute(node, "auto_pad", kPadding);
  if (automatic == "VALID") found.pads.assign(2 * axes, 0);
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (size_t i = 0; i < axes; ++i) {
      const int64_t span = (found.window[i] - 1) * found.dilations[i] + 1;
      const int64_t count = (extents[i] + found.strides[i] - 1) / found.strides[i];
      const int64_t pad = std::max<int64_t>((count - 1) * found.strides[i] + span - extents[i], 0);
      const int64_t less = pad / 2;
      found.pads[i] = automatic == "SAME_UPPER" ? less : pad - less;
      found.pads[axes + i] = pad - found.pads[i];
    }
  }
  return found;
}

namespace {

struct ConvOperands {
  Computed x;
  const Constant* filter;
  std::vector<int64_t> extents;  // of the spatial axes
  size_t axes = 0;
};

ConvOperands conv_operands(Importer& importer, const NodeProto& node) {
  const Value& x = importer.operand(node, 0);
  const Constant& filter = importer.need(node, 1, "the filter");
  const std::vector<int64_t> dims = x.dims();
  const auto axes = std::ssize(dims) - 2;
  if (axes < 1 || axes > 3 || filter.rank() != std::ssize(dims) || !filter.is_real) {
    throw Unsupported(label(node), ": expected 1 to 3 spatial axes and a filter of as many, got ",
                      dims.size(), " and ", filter.rank(), " axes");
  }
  if (x.constant) throw Unsupported(label(node), ": a convolution of constants");
  return {importer.channels_last(x),
          &filter,
          {dims.begin() + 2, dims.end()},
          static_cast<size_t>(axes)};
}

WindowAttributes conv_window(const NodeProto& node, const ConvOperands& operands) {
  const std::vector<int64_t> window(operands.filter->dims.begin() + 2, operands.filter->dims.end());
  WindowAttributes attributes = window_attributes(node, operands.extents, window);
  if (attributes.window != window) {
    throw InvalidArgument(label(node), ": kernel_shape is not that of the filter");
  }
  return attributes;
}

// A line becomes a picture of one row, whose windows have one row.
void add_row(ConvOperands& operands, WindowAttributes& window, Importer& importer,
             const NodeProto& node) {
  const Shape& x = operands.x.shape;
  operands.x = importer.reshaped(node, operands.x, {1, x[0], x[1]});
  window.window.insert(window.window.begin(), 1);
  window.strides.insert(window.strides.begin(), 1);
  window.dilations.insert(window.dilations.begin(), 1);
  window.pads = {0, window.pads[0], 0, window.pads[1]};
}

std::vector<nn::WeightSpec> weights_of(nn::WeightSpec filter, int64_t results, bool bias) {
  std::vector<nn::WeightSpec> weights = {std::move(filter)};
  if (bias) weights.push_back({"bias", {results}, Zeros()});
  return weights;
}

ir::Attributes attributes_of(const WindowAttributes& window, int64_t groups) {
  return {{"padding", std::string("explicit")},
          {"pads", window.pads},
          {"strides", window.strides},
          {"dilations", window.dilations},
          {"groups", groups}};
}

// Filters are [results, channels / groups, ...] in ONNX and [..., channels / groups, results] here.
NamedTensors weights_from(Importer& importer, const NodeProto& node, const Constant& filter,
                          const Order& perm, const nn::WeightSpec& spec, int64_t results) {
  NamedTensors weights = {{spec.name, weight_tensor(spec.file_shape(), permuted(filter, perm))}};
  if (!importer.has(node, 2)) return weights;
  const Constant& bias = importer.need(node, 2, "the bias");
  if (bias.elements() != results) {
    throw InvalidArgument(label(node), ": bias: expected ", results, " numbers, got ",
                          bias.elements());
  }
  weights.emplace_back("bias", weight_tensor({results}, bias.as_reals()));
  return weights;
}

Shape filter_shape(const WindowAttributes& window, int64_t from, int64_t to) {
  std::vector<int64_t> dims = window.window;
  dims.push_back(from);
  dims.push_back(to);
  return Shape(dims);
}

// A convolution with a filter for each channel has the names and shapes of Keras' depthwise layers.
nn::WeightSpec filter_spec(const WindowAttributes& window, const std::vector<int64_t>& dims,
                           int64_t groups, int64_t channels) {
  nn::WeightSpec filter{"kernel", filter_shape(window, dims[1], dims[0]), GlorotUniform()};
  const bool depthwise = groups == channels && groups > 1 && dims[1] == 1 &&
                         window.window.size() == 2 && dims[0] % channels == 0;
  if (depthwise) {
    filter.name = "depthwise_kernel";
    filter.keras_shape = filter_shape(window, channels, dims[0] / channels);
  }
  return filter;
}

void give_conv(Importer& importer, const NodeProto& node, size_t axes, Computed y) {
  if (axes == 1) y = importer.reshaped(node, y, {y.shape[1], y.shape[2]});
  importer.give(node, y, channels_last_order(axes + 2));
}

void import_conv(Importer& importer, const NodeProto& node) {
  ConvOperands operands = conv_operands(importer, node);
  const std::vector<int64_t>& dims = operands.filter->dims;
  WindowAttributes window = conv_window(node, operands);
  const size_t axes = operands.axes;
  if (axes == 1) add_row(operands, window, importer, node);
  const int64_t groups = int_attribute(node, "group", 1);
  Order perm;
  for (size_t i = 2; i < axes + 2; ++i) perm.push_back(static_cast<int64_t>(i));
  perm.push_back(1);
  perm.push_back(0);
  const nn::WeightSpec filter = filter_spec(window, dims, groups, operands.x.shape.back());
  const Computed y = importer.apply(
      node,
      {.class_name = concat("Conv", std::max<size_t>(axes, 2), "D"),
       .op = "conv",
       .attributes = attributes_of(window, groups),
       .weights = weights_of(filter, dims[0], importer.has(node, 2))},
      {operands.x}, weights_from(importer, node, *operands.filter, perm, filter, dims[0]),
      layer_of_weight(node.inputs[1]));
  give_conv(importer, node, axes, y);
}

// The extents of the result, and the pads that go with them.
ir::Ints transposed_extents(const NodeProto& node, const std::vector<int64_t>& extents,
                            WindowAttributes& window) {
  const size_t axes = extents.size();
  const ir::Ints more = ints_attribute(node, "output_padding", ir::Ints(axes, 0));
  if (more.size() != axes) {
    throw InvalidArgument(label(node), ": output_padding: expected ", axes, " numbers, got ",
                          more.size());
  }
  const ir::Ints wanted = ints_attribute(node, "output_shape");
  const std::string automatic = word_attribute(node, "auto_pad", kPadding);
  ir::Ints result;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t span = (window.window[i] - 1) * window.dilations[i] + 1;
    const int64_t whole = (extents[i] - 1) * window.strides[i] + span + more.at(i);
    int64_t extent = whole - window.pads[i] - window.pads[axes + i];
    const bool same = automatic.starts_with("SAME");
    if (same || wanted.size() >= axes) {
      extent =
          wanted.size() >= axes ? wanted[wanted.size() - axes + i] : extents[i] * window.strides[i];
      const int64_t pad = std::max<int64_t>(whole - extent, 0);
      window.pads[i] = automatic == "SAME_LOWER" ? pad - pad / 2 : pad / 2;
      window.pads[axes + i] = pad - window.pads[i];
    }
    result.push_back(extent);
  }
  return result;
}

void import_conv_transpose(Importer& importer, const NodeProto& node) {
  ConvOperands operands = conv_operands(importer, node);
  const std::vector<int64_t>& dims = operands.filter->dims;
  WindowAttributes window = conv_window(node, operands);
  ir::Ints output = transposed_extents(node, operands.extents, window);
  if (operands.axes == 1) {
    add_row(operands, window, importer, node);
    output.insert(output.begin(), 1);
  }
  const int64_t groups = int_attribute(node, "group", 1);
  const int64_t results = dims[1] * groups;
  // [channels, results / groups, ...] becomes [..., results / groups, channels].
  Order perm;
  for (size_t i = 2; i < operands.axes + 2; ++i) perm.push_back(static_cast<int64_t>(i));
  perm.push_back(1);
  perm.push_back(0);
  const nn::WeightSpec filter{"kernel", filter_shape(window, dims[1], dims[0]), GlorotUniform()};
  ir::Attributes attributes = attributes_of(window, groups);
  attributes.set("output", output);
  const Computed y = importer.apply(
      node,
      {.class_name = concat("Conv", std::max<size_t>(operands.axes, 2), "DTranspose"),
       .op = "conv_transpose",
       .attributes = attributes,
       .weights = weights_of(filter, results, importer.has(node, 2))},
      {operands.x}, weights_from(importer, node, *operands.filter, perm, filter, results),
      layer_of_weight(node.inputs[1]));
  give_conv(importer, node, operands.axes, y);
}

}  // namespace

std::vector<OpImport> conv_imports() {
  return {{"Conv", import_conv}, {"ConvTranspose", import_conv_transpose}};
}

}  // namespace pando::onnx
