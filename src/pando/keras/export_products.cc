// Convolutions, dense layers and products of matrices.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/keras/exporter_impl.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/window.h"

namespace pando::keras {
namespace {

// Attributes of a convolution with an entry for each spatial axis.
struct ConvShape {
  size_t axes = 0;
  ir::Ints kernel;
  ir::Ints strides;
  ir::Ints dilations;
  int64_t groups = 1;
};

ConvShape shape_of_conv(const ir::Node& node) {
  const Shape& filter = node.input(1)->shape();
  ConvShape conv{.axes = static_cast<size_t>(filter.rank()) - 2};
  conv.kernel = ir::Ints(filter.begin(), filter.end() - 2);
  const ir::Ints ones(conv.axes, 1);
  conv.strides = node.attributes().get_ints("strides", ones);
  conv.dilations = node.attributes().get_ints("dilations", ones);
  if (conv.strides.empty()) conv.strides = ones;
  if (conv.dilations.empty()) conv.dilations = ones;
  conv.groups = node.attributes().get_int("groups", 1);
  return conv;
}

Json conv_config(const ConvShape& conv, const std::string& padding, bool bias) {
  return {{"kernel_size", conv.kernel},
          {"strides", conv.strides},
          {"padding", padding},
          {"data_format", "channels_last"},
          {"dilation_rate", conv.dilations},
          {"activation", "linear"},
          {"use_bias", bias}};
}

bool weights_are_given(Exporter& exporter, const ir::Node& node) {
  for (int i = 1; i < node.num_inputs(); ++i) {
    if (exporter.is_weight(node.input(i))) continue;
    exporter.refuse(node, "its weights are computed");
    return false;
  }
  return true;
}

// The convolution of one pixel behind a depthwise one of the same layer.
const ir::Node* pointwise_of(const Exporter& exporter, const ir::Node& node) {
  const std::vector<ir::Node*> users = exporter.graph().users(node.output());
  if (users.size() != 1 || users[0]->op() != "conv" || users[0]->name() != node.name()) {
    return nullptr;
  }
  return users[0]->input(1)->name().ends_with("/pointwise_kernel") ? users[0] : nullptr;
}

Shape depthwise_shape(const ir::Node& node) {
  const Shape& filter = node.input(1)->shape();
  const int64_t channels = node.input(0)->shape().back();
  return {filter[0], filter[1], channels, filter.back() / channels};
}

void export_conv(Exporter& exporter, const ir::Node& node) {
  if (!weights_are_given(exporter, node)) return;
  const ir::Value* filter = node.input(1);
  if (filter->name().ends_with("/pointwise_kernel") && exporter.is_weight(filter) &&
      node.input(0)->producer() != nullptr && node.input(0)->producer()->name() == node.name()) {
    return exporter.pass_on(node, exporter.ref(node.input(0)));  // its layer is there
  }
  const ConvShape conv = shape_of_conv(node);
  std::string padding = padding_name(node, conv.kernel, conv.strides, conv.dilations);
  TensorRef input = exporter.ref(node.input(0));
  Shape shape = node.input(0)->shape();
  if (padding.empty()) {
    input = emit_padding(exporter, node, node.attributes().get_ints("pads"), shape);
    padding = "valid";
  }
  const ir::Value* bias = node.num_inputs() > 2 ? node.input(2) : nullptr;
  NewLayer layer{.class_name = concat("Conv", dimensions(shape))};
  const bool depthwise = exporter.spec(filter).name == "depthwise_kernel";
  const ir::Node* pointwise = depthwise ? pointwise_of(exporter, node) : nullptr;
  if (pointwise != nullptr && pointwise->num_inputs() > 2) bias = pointwise->input(2);
  layer.config = conv_config(conv, padding, bias != nullptr);
  if (depthwise) {
    const Shape kernel = depthwise_shape(node);
    layer.class_name = pointwise == nullptr ? "DepthwiseConv2D" : "SeparableConv2D";
    layer.config["depth_multiplier"] = kernel.back();
    layer.weights.push_back({"depthwise_kernel", filter, kernel});
  } else {
    if (conv.groups != 1) layer.config["groups"] = conv.groups;
    layer.config["filters"] = filter->shape().back();
    layer.weights.push_back({"kernel", filter, filter->shape()});
  }
  if (pointwise != nullptr) {
    const ir::Value* second = pointwise->input(1);
    layer.config["filters"] = second->shape().back();
    layer.weights.push_back({"pointwise_kernel", second, second->shape()});
  }
  if (bias != nullptr) layer.weights.push_back({"bias", bias, bias->shape()});
  exporter.emit_last(node, std::move(layer), {input}, shape);
}

void export_conv_transpose(Exporter& exporter, const ir::Node& node) {
  if (!weights_are_given(exporter, node)) return;
  const ConvShape conv = shape_of_conv(node);
  const std::string padding = node.attributes().get_string("padding", "valid");
  if (padding == "explicit" || conv.groups != 1) {
    return exporter.refuse(node, "expected padding \"valid\" or \"same\" and one group");
  }
  const Shape& x = node.input(0)->shape();
  const Shape& y = node.output()->shape();
  ir::Ints more;  // output_padding
  bool usual = true;
  for (size_t i = 0; i < conv.axes; ++i) {
    const int axis = static_cast<int>(i) + 1;
    const int64_t span = (conv.kernel[i] - 1) * conv.dilations[i] + 1;
    const bool same = padding == "same";
    const int64_t unpadded = same ? 0 : std::max<int64_t>(span - conv.strides[i], 0);
    usual = usual && y[axis] == x[axis] * conv.strides[i] + unpadded;
    more.push_back(y[axis] - (x[axis] - 1) * conv.strides[i] - span + (same ? span / 2 * 2 : 0));
  }
  NewLayer layer{.class_name = concat("Conv", dimensions(x), "Transpose")};
  const ir::Value* filter = node.input(1);
  const ir::Value* bias = node.num_inputs() > 2 ? node.input(2) : nullptr;
  layer.config = conv_config(conv, padding, bias != nullptr);
  layer.config["filters"] = y.back();
  if (!usual) layer.config["output_padding"] = more;
  layer.weights.push_back({"kernel", filter, filter->shape()});
  if (bias != nullptr) layer.weights.push_back({"bias", bias, bias->shape()});
  exporter.emit(node, std::move(layer));
}

void export_dense(Exporter& exporter, const ir::Node& node) {
  if (!weights_are_given(exporter, node)) return;
  const ir::Value* bias = node.num_inputs() > 2 ? node.input(2) : nullptr;
  const ir::Value* filter = node.input(1);
  NewLayer layer{.class_name = "Dense"};
  layer.config = {
      {"units", filter->shape().back()}, {"activation", "linear"}, {"use_bias", bias != nullptr}};
  layer.weights.push_back({"kernel", filter, filter->shape()});
  if (bias != nullptr) layer.weights.push_back({"bias", bias, bias->shape()});
  exporter.emit(node, std::move(layer));
}

void export_matmul(Exporter& exporter, const ir::Node& node) {
  if (node.input(0)->shape().rank() != 3 || exporter.is_weight(node.input(1)) ||
      exporter.is_weight(node.input(0))) {
    return exporter.refuse(node, "Keras' Dot takes two computed matrices for each sample");
  }
  const int64_t first = node.attributes().get_int("transpose_a") != 0 ? 1 : 2;
  const int64_t second = node.attributes().get_int("transpose_b") != 0 ? 2 : 1;
  exporter.emit(
      node,
      {.class_name = "Dot", .config = {{"axes", ir::Ints{first, second}}, {"normalize", false}}},
      {node.input(0), node.input(1)});
}

}  // namespace

std::string padding_name(const ir::Node& node, const ir::Ints& window, const ir::Ints& strides,
                         const ir::Ints& dilations) {
  const std::string padding = node.attributes().get_string("padding", "valid");
  if (padding != "explicit") return padding;
  const ir::Ints pads = node.attributes().get_ints("pads");
  const size_t axes = window.size();
  bool none = true, same = true;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t extent = node.input(0)->shape()[static_cast<int>(i) + 1];
    const int64_t span = (window[i] - 1) * dilations[i] + 1;
    const int64_t results = (extent + strides[i] - 1) / strides[i];
    const int64_t all = std::max<int64_t>((results - 1) * strides[i] + span - extent, 0);
    none = none && pads[i] == 0 && pads[axes + i] == 0;
    same = same && pads[i] == all / 2 && pads[axes + i] == all - all / 2;
  }
  return none ? "valid" : same ? "same" : "";
}

std::vector<OpExport> product_exports() {
  return {{"conv", export_conv},
          {"conv_transpose", export_conv_transpose},
          {"dense", export_dense},
          {"matmul", export_matmul}};
}

}  // namespace pando::keras
