// Activations, arithmetic, dropout and noise.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "pando/base/error.h"
#include "pando/keras/exporter_impl.h"

namespace pando::keras {
namespace {

// Becomes the activation of the layer before it, or a layer.
void emit_activation(Exporter& exporter, const ir::Node& node, const std::string& name) {
  if (ExportedLayer* owner = exporter.owner_of_activation(node)) {
    owner->config["activation"] = name;
    return exporter.pass_on(node, exporter.ref(node.input(0)));
  }
  exporter.emit(node, {.class_name = "Activation", .config = {{"activation", name}}});
}

// Functions that have the same name and no options.
void export_activation(Exporter& exporter, const ir::Node& node) {
  emit_activation(exporter, node, node.op());
}

void export_gelu(Exporter& exporter, const ir::Node& node) {
  if (node.attributes().get_double("approximate") != 0) {
    return exporter.refuse(node, "Keras' activation gelu is not the approximate one");
  }
  emit_activation(exporter, node, "gelu");
}

void export_relu6(Exporter& exporter, const ir::Node& node) {
  exporter.emit(node,
                {.class_name = "ReLU",
                 .config = {{"max_value", 6.0}, {"negative_slope", 0.0}, {"threshold", 0.0}}});
}

void export_leaky_relu(Exporter& exporter, const ir::Node& node) {
  const double alpha = node.attributes().get_double("alpha", 0.3);
  exporter.emit(node, {.class_name = "LeakyReLU",
                       .config = {{exporter.major() < 3 ? "alpha" : "negative_slope", alpha}}});
}

void export_elu(Exporter& exporter, const ir::Node& node) {
  exporter.emit(
      node, {.class_name = "ELU", .config = {{"alpha", node.attributes().get_double("alpha", 1)}}});
}

void export_clip(Exporter& exporter, const ir::Node& node) {
  const double least = node.attributes().get_double("min", -std::numeric_limits<float>::max());
  const double most = node.attributes().get_double("max", std::numeric_limits<float>::max());
  if (least != 0 || !(most > 0)) {
    return exporter.refuse(node, concat("Keras cuts off below 0 only, not below ", least));
  }
  exporter.emit(node,
                {.class_name = "ReLU",
                 .config = {{"max_value", most}, {"negative_slope", 0.0}, {"threshold", 0.0}}});
}

// alpha x + beta between 0 and 1, by two layers.
TensorRef emit_hard_sigmoid(Exporter& exporter, const ir::Node& node, double alpha, double beta) {
  const Shape& shape = node.input(0)->shape();
  const TensorRef line = exporter.emit_step(
      node, {.class_name = "Rescaling", .config = {{"scale", alpha}, {"offset", beta}}},
      {exporter.ref(node.input(0))}, shape, shape);
  return exporter.emit_step(
      node,
      {.class_name = "ReLU",
       .config = {{"max_value", 1.0}, {"negative_slope", 0.0}, {"threshold", 0.0}}},
      {line}, shape, shape);
}

constexpr double kOneSixth = 1.0 / 6;

// Keras 2 has a slope of 0.2, Keras 3 one of 1/6.
void export_hard_sigmoid(Exporter& exporter, const ir::Node& node) {
  const double alpha = node.attributes().get_double("alpha", 0.2);
  const double beta = node.attributes().get_double("beta", 0.5);
  const double usual = exporter.major() < 3 ? 0.2 : kOneSixth;
  if (std::abs(alpha - usual) < 1e-7 && beta == 0.5) {
    return emit_activation(exporter, node, "hard_sigmoid");
  }
  exporter.pass_on(node, emit_hard_sigmoid(exporter, node, alpha, beta));
}

void export_hard_swish(Exporter& exporter, const ir::Node& node) {
  if (exporter.major() >= 3) return emit_activation(exporter, node, "hard_silu");
  const TensorRef factor = emit_hard_sigmoid(exporter, node, kOneSixth, 0.5);
  exporter.emit_last(node, {.class_name = "Multiply"}, {exporter.ref(node.input(0)), factor},
                     node.input(0)->shape());
}

void export_prelu(Exporter& exporter, const ir::Node& node) {
  const ir::Value* alpha = node.input(1);
  if (!exporter.is_weight(alpha)) return exporter.refuse(node, "its slopes are computed");
  Json shared = Json::array();
  for (int axis = 0; axis < alpha->shape().rank(); ++axis) {
    if (alpha->shape()[axis] == 1) shared.push_back(axis + 1);
  }
  NewLayer layer{.class_name = "PReLU", .config = {{"shared_axes", shared}}};
  layer.weights.push_back({"alpha", alpha, alpha->shape()});
  exporter.emit(node, std::move(layer));
}

void export_scale(Exporter& exporter, const ir::Node& node) {
  const double factor = node.attributes().get_double("factor", 1);
  const double offset = node.attributes().get_double("offset", 0);
  if (factor == 1 && offset == 0) {
    return exporter.emit(node, {.class_name = "Activation", .config = {{"activation", "linear"}}});
  }
  exporter.emit(node,
                {.class_name = "Rescaling", .config = {{"scale", factor}, {"offset", offset}}});
}

void export_normalise_pixels(Exporter& exporter, const ir::Node& node) {
  if (node.input(0)->shape() != node.output()->shape()) {
    return exporter.refuse(node, "Keras adds no channels");
  }
  const auto numbers = [&](const char* name, double missing) {
    const auto found = node.attributes().values().find(name);
    ir::Numbers list = found == node.attributes().values().end()
                           ? ir::Numbers{}
                           : std::get<ir::Numbers>(found->second);
    return list.empty() ? ir::Numbers{missing} : list;
  };
  exporter.emit(node,
                {.class_name = "Rescaling",
                 .config = {{"scale", numbers("scale", 1)}, {"offset", numbers("shift", 0)}}});
}

// An operand with as many axes as the result; Keras aligns axes otherwise than numpy.
TensorRef aligned(Exporter& exporter, const ir::Node& node, const ir::Value* value) {
  const Shape& shape = value->shape();
  const int missing = node.output()->shape().rank() - shape.rank();
  if (missing <= 0) return exporter.ref(value);
  ir::Ints target(static_cast<size_t>(missing), 1);
  target.insert(target.end(), shape.begin() + 1, shape.end());
  ir::Ints whole = {1};
  whole.insert(whole.end(), target.begin(), target.end());
  return exporter.emit_step(node, {.class_name = "Reshape", .config = {{"target_shape", target}}},
                            {exporter.ref(value)}, shape, Shape(whole));
}

void emit_merging(Exporter& exporter, const ir::Node& node, const char* class_name) {
  for (const ir::Value* input : node.inputs()) {
    if (!exporter.is_weight(input)) continue;
    return exporter.refuse(node, "Keras has no layer that trains one operand");
  }
  const TensorRef a = aligned(exporter, node, node.input(0));
  const TensorRef b = aligned(exporter, node, node.input(1));
  exporter.emit_last(node, {.class_name = class_name}, {a, b}, node.input(0)->shape());
}

void export_add(Exporter& exporter, const ir::Node& node) { emit_merging(exporter, node, "Add"); }
void export_subtract(Exporter& exporter, const ir::Node& node) {
  emit_merging(exporter, node, "Subtract");
}
void export_multiply(Exporter& exporter, const ir::Node& node) {
  emit_merging(exporter, node, "Multiply");
}
void export_maximum(Exporter& exporter, const ir::Node& node) {
  emit_merging(exporter, node, "Maximum");
}
void export_minimum(Exporter& exporter, const ir::Node& node) {
  emit_merging(exporter, node, "Minimum");
}

void export_dropout(Exporter& exporter, const ir::Node& node) {
  const std::string mask = node.attributes().get_string("mask", "element");
  const Shape& shape = node.input(0)->shape();
  NewLayer layer{.class_name = "Dropout"};
  layer.config = {{"rate", node.attributes().get_double("rate", 0.5)}};
  if (mask == "channel") {
    layer.class_name = concat("SpatialDropout", dimensions(shape));
  } else if (mask == "sample") {
    Json noise = Json::array();
    noise.push_back(nullptr);
    for (int axis = 1; axis < shape.rank(); ++axis) noise.push_back(1);
    layer.config["noise_shape"] = noise;
  }
  exporter.emit(node, std::move(layer));
}

void export_noise(Exporter& exporter, const ir::Node& node) {
  exporter.emit(node, {.class_name = "GaussianNoise",
                       .config = {{"stddev", node.attributes().get_double("stddev", 1)}}});
}

// Changes nothing in inference.
void export_nothing(Exporter& exporter, const ir::Node& node) {
  exporter.pass_on(node, exporter.ref(node.input(0)));
}

}  // namespace

std::vector<OpExport> element_exports() {
  std::vector<OpExport> all = {{"gelu", export_gelu},
                               {"relu6", export_relu6},
                               {"leaky_relu", export_leaky_relu},
                               {"elu", export_elu},
                               {"clip", export_clip},
                               {"hard_sigmoid", export_hard_sigmoid},
                               {"hard_swish", export_hard_swish},
                               {"prelu", export_prelu},
                               {"scale", export_scale},
                               {"normalise_pixels", export_normalise_pixels},
                               {"add", export_add},
                               {"subtract", export_subtract},
                               {"multiply", export_multiply},
                               {"maximum", export_maximum},
                               {"minimum", export_minimum},
                               {"dropout", export_dropout},
                               {"gaussian_noise", export_noise},
                               {"checkpoint", export_nothing},
                               {"flip_where", export_nothing}};
  for (const char* name :
       {"relu", "sigmoid", "tanh", "softmax", "selu", "swish", "softplus", "mish"}) {
    all.push_back({name, export_activation});
  }
  return all;
}

}  // namespace pando::keras
