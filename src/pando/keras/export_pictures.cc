// Pooling, normalisation and resizing.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/keras/exporter_impl.h"
#include "pando/ops/attribute_values.h"

namespace pando::keras {
namespace {

// True if no element of the value is negative, so that zeros around it never are a maximum.
bool is_never_negative(const ir::Value* value) {
  for (const ir::Node* node = value->producer(); node != nullptr;
       node = node->input(0)->producer()) {
    const std::string& op = node->op();
    if (op == "relu" || op == "relu6" || op == "sigmoid" || op == "softmax") return true;
    if (op != "max_pool" && op != "avg_pool" && op != "dropout" && op != "reshape") return false;
  }
  return false;
}

// What ceil_mode adds behind each axis.
ir::Ints rest_of_windows(const ir::Node& node, const ir::Ints& window, const ir::Ints& strides,
                         const ir::Ints& pads) {
  ir::Ints rest;
  for (size_t i = 0; i < window.size(); ++i) {
    const int axis = static_cast<int>(i) + 1;
    const int64_t extent = node.input(0)->shape()[axis] + pads[i] + pads[window.size() + i];
    const int64_t needed = (node.output()->shape()[axis] - 1) * strides[i] + window[i];
    rest.push_back(std::max<int64_t>(needed - extent, 0));
  }
  return rest;
}

void export_pool(Exporter& exporter, const ir::Node& node) {
  const bool max = node.op() == "max_pool";
  const ir::Ints window = node.attributes().get_ints("window");
  const ir::Ints strides = node.attributes().get_ints("strides");
  const ir::Ints ones(window.size(), 1);
  std::string padding = padding_name(node, window, strides, ones);
  ir::Ints pads = node.attributes().get_ints("pads");
  if (pads.empty()) pads.assign(2 * window.size(), 0);
  if (padding != "same") {
    const ir::Ints rest = rest_of_windows(node, window, strides, pads);
    for (size_t i = 0; i < rest.size(); ++i) pads[window.size() + i] += rest[i];
    padding = std::ranges::all_of(pads, [](int64_t pad) { return pad == 0; }) ? "valid" : "";
  }
  TensorRef input = exporter.ref(node.input(0));
  Shape shape = node.input(0)->shape();
  if (padding.empty()) {
    if (!max || !is_never_negative(node.input(0))) {
      return exporter.refuse(
          node, concat("Keras cannot pad by ", ir::to_text(pads), " without counting zeros"));
    }
    input = emit_padding(exporter, node, pads, shape);
    padding = "valid";
  }
  exporter.emit_last(
      node,
      {.class_name = concat(max ? "MaxPooling" : "AveragePooling", dimensions(shape)),
       .config = {{"pool_size", window},
                  {"strides", strides},
                  {"padding", padding},
                  {"data_format", "channels_last"}}},
      {input}, shape);
}

void emit_global(Exporter& exporter, const ir::Node& node, bool max, bool keep) {
  NewLayer layer{.class_name = concat(max ? "GlobalMaxPooling" : "GlobalAveragePooling",
                                      dimensions(node.input(0)->shape()))};
  layer.config = {{"data_format", "channels_last"}};
  if (keep) layer.config["keepdims"] = true;
  exporter.emit(node, std::move(layer));
}

void export_global_avg_pool(Exporter& exporter, const ir::Node& node) {
  emit_global(exporter, node, false, false);
}
void export_global_max_pool(Exporter& exporter, const ir::Node& node) {
  emit_global(exporter, node, true, false);
}

// Over all spatial axes it is a global pooling.
void export_reduce(Exporter& exporter, const ir::Node& node) {
  const int rank = node.input(0)->shape().rank();
  ir::Ints spatial;
  for (int axis = 1; axis + 1 < rank; ++axis) spatial.push_back(axis);
  if (node.attributes().get_ints("axes") != spatial || (rank != 4 && rank != 5)) {
    return exporter.refuse(node, "Keras only reduces all spatial axes of a picture");
  }
  emit_global(exporter, node, node.op() == "reduce_max",
              node.attributes().get_int("keepdims") != 0);
}

void skip(Exporter& /*exporter*/, const ir::Node& /*node*/) {}

void export_batch_norm(Exporter& exporter, const ir::Node& node) {
  const ir::Value* gamma = node.input(3);
  const ir::Value* beta = node.input(4);
  if (!exporter.is_weight(gamma) || !exporter.is_weight(beta)) {
    return exporter.refuse(node, "its weights are computed");
  }
  const bool moves = node.attributes().get_int("batch_statistics") != 0;
  const ir::Value* mean = moves ? exporter.sibling(gamma, "moving_mean") : node.input(1);
  const ir::Value* variance = moves ? exporter.sibling(gamma, "moving_variance") : node.input(2);
  NewLayer layer{.class_name = "BatchNormalization", .trainable = moves};
  layer.config = {{"axis", node.input(0)->shape().rank() - 1},
                  {"momentum", moves ? exporter.spec(mean).moving_momentum : 0.99},
                  {"epsilon", node.attributes().get_double("epsilon", 1e-3)},
                  {"center", true},
                  {"scale", true}};
  layer.weights = {{"gamma", gamma, gamma->shape()},
                   {"beta", beta, beta->shape()},
                   {"moving_mean", mean, mean->shape()},
                   {"moving_variance", variance, variance->shape()}};
  exporter.emit(node, std::move(layer));
}

void export_layer_norm(Exporter& exporter, const ir::Node& node) {
  const int64_t axes = node.attributes().get_int("axes", 1);
  const int64_t rank = node.input(0)->shape().rank();
  const bool scale = node.attributes().get_int("scale", 1) != 0;
  const bool center = node.attributes().get_int("center", 1) != 0;
  ir::Ints axis;
  for (int64_t i = rank - axes; i < rank; ++i) axis.push_back(i);
  NewLayer layer{.class_name = "LayerNormalization"};
  layer.config = {{"axis", axis},
                  {"epsilon", node.attributes().get_double("epsilon", 1e-3)},
                  {"center", center},
                  {"scale", scale}};
  int next = 1;
  for (const auto& [has, name] : {std::pair(scale, "gamma"), {center, "beta"}}) {
    if (!has) continue;
    const ir::Value* value = node.input(next++);
    if (!exporter.is_weight(value)) return exporter.refuse(node, "its weights are computed");
    layer.weights.push_back({name, value, value->shape()});
  }
  exporter.emit(node, std::move(layer));
}

void export_group_norm(Exporter& exporter, const ir::Node& node) {
  const ir::Value* gamma = node.input(1);
  const ir::Value* beta = node.input(2);
  if (node.attributes().get_int("strided") != 0 || !exporter.is_weight(gamma) ||
      !exporter.is_weight(beta)) {
    return exporter.refuse(node, "Keras has groups of neighbouring channels only");
  }
  NewLayer layer{.class_name = "GroupNormalization"};
  layer.config = {{"groups", node.attributes().get_int("groups")},
                  {"axis", -1},
                  {"epsilon", node.attributes().get_double("epsilon", 1e-3)},
                  {"center", true},
                  {"scale", true}};
  layer.weights = {{"gamma", gamma, gamma->shape()}, {"beta", beta, beta->shape()}};
  exporter.emit(node, std::move(layer));
}

// Whole factors of enlargement; empty: there are none.
ir::Ints whole_factors(const ir::Node& node) {
  ir::Ints factors;
  for (int axis = 1; axis + 1 < node.input(0)->shape().rank(); ++axis) {
    const int64_t from = node.input(0)->shape()[axis], to = node.output()->shape()[axis];
    if (to % from != 0) return {};
    factors.push_back(to / from);
  }
  return factors;
}

void export_resize(Exporter& exporter, const ir::Node& node) {
  const Shape& x = node.input(0)->shape();
  const ir::Attributes& attributes = node.attributes();
  const bool linear = attributes.get_string("mode", "nearest") == "linear";
  const std::string coordinates = attributes.get_string("coordinates", "half_pixel");
  const std::string nearest = attributes.get_string("nearest", "round_prefer_floor");
  const ir::Ints factors = whole_factors(node);
  const bool half = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel";
  // With whole factors, all these take the pixel that the new one lies in.
  const bool usual =
      linear ? half
             : (half && nearest == "round_prefer_ceil") ||
                   (!factors.empty() && coordinates == "asymmetric" && nearest == "floor");
  if (!usual || (linear && x.rank() != 4) || (factors.empty() && x.rank() != 4) || x.rank() < 4) {
    return exporter.refuse(node, concat("Keras cannot resize with ", coordinates, " and ",
                                        linear ? "linear" : nearest));
  }
  const std::string interpolation = linear ? "bilinear" : "nearest";
  if (factors.empty()) {
    return exporter.emit(node, {.class_name = "Resizing",
                                .config = {{"height", node.output()->shape()[1]},
                                           {"width", node.output()->shape()[2]},
                                           {"interpolation", interpolation},
                                           {"crop_to_aspect_ratio", false}}});
  }
  NewLayer layer{.class_name = concat("UpSampling", dimensions(x))};
  layer.config = {{"size", factors}, {"data_format", "channels_last"}};
  if (x.rank() == 4) layer.config["interpolation"] = interpolation;
  exporter.emit(node, std::move(layer));
}

}  // namespace

std::string dimensions(const Shape& shape) { return concat(shape.rank() - 2, "D"); }

TensorRef emit_padding(Exporter& exporter, const ir::Node& node, const ir::Ints& pads,
                       Shape& shape) {
  const Shape before = shape;
  const size_t axes = pads.size() / 2;
  Json padding = Json::array();
  for (size_t i = 0; i < axes; ++i) {
    padding.push_back(ir::Ints{pads[i], pads[axes + i]});
    shape[static_cast<int>(i) + 1] += pads[i] + pads[axes + i];
  }
  return exporter.emit_step(node,
                            {.class_name = concat("ZeroPadding", dimensions(shape)),
                             .config = {{"padding", padding}, {"data_format", "channels_last"}}},
                            {exporter.ref(node.input(0))}, before, shape);
}

std::vector<OpExport> picture_exports() {
  return {{"max_pool", export_pool},
          {"avg_pool", export_pool},
          {"global_avg_pool", export_global_avg_pool},
          {"global_max_pool", export_global_max_pool},
          {"reduce_mean", export_reduce},
          {"reduce_max", export_reduce},
          {"batch_moments", skip},
          {"combine_moments", skip},
          {"batch_norm", export_batch_norm},
          {"layer_norm", export_layer_norm},
          {"group_norm", export_group_norm},
          {"resize", export_resize}};
}

}  // namespace pando::keras
