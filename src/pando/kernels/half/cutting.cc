// SPDX-License-Identifier: MIT
#include "pando/kernels/half/cutting.h"

#include <algorithm>
#include <map>
#include <string>

#include "pando/base/error.h"
#include "pando/kernels/half/rounding_key.h"
#include "pando/ops/op.h"

namespace pando::kernels::half {

namespace {

struct CutRule {
  Unit unit = Unit::sample;
  std::vector<std::string_view> whole;  // inputs that belong to no sample
};

// Ops without a rule are cut by samples and have no whole inputs.
const CutRule& rule_of(const std::string& op) {
  static const CutRule samples;
  static const std::map<std::string, CutRule, std::less<>> rules = {
      {"add", {Unit::pixel, {}}},
      {"batch_moments", {Unit::pixel, {}}},
      {"batch_norm", {Unit::pixel, {"mean", "variance", "gamma", "beta"}}},
      {"batch_norm_input_grad",
       {Unit::pixel, {"mean", "variance", "gamma", "dbeta_total", "dgamma_total"}}},
      {"batch_norm_sums", {Unit::pixel, {"mean", "variance"}}},
      {"conv", {Unit::sample, {"kernel", "bias"}}},
      {"conv_input_grad", {Unit::sample, {"kernel"}}},
      {"conv_pool", {Unit::sample, {"kernel", "bias"}}},
      {"conv_pool_input_grad", {Unit::sample, {"kernel"}}},
      {"dense", {Unit::sample, {"kernel", "bias"}}},
      {"dense_input_grad", {Unit::sample, {"kernel"}}},
      {"group_norm", {Unit::sample, {"gamma", "beta"}}},
      {"group_norm_input_grad", {Unit::sample, {"gamma"}}},
      {"leaky_relu", {Unit::pixel, {}}},
      {"leaky_relu_grad", {Unit::pixel, {}}},
      {"multiply", {Unit::pixel, {}}},
      {"relu", {Unit::pixel, {}}},
      {"relu_grad", {Unit::pixel, {}}},
      {"scale", {Unit::pixel, {}}},
      {"sigmoid", {Unit::pixel, {}}},
      {"sigmoid_grad", {Unit::pixel, {}}},
      {"softmax", {Unit::pixel, {}}},
      {"softmax_grad", {Unit::pixel, {}}},
      {"tanh", {Unit::pixel, {}}},
      {"tanh_grad", {Unit::pixel, {}}},
  };
  const auto found = rules.find(op);
  return found == rules.end() ? samples : found->second;
}

int64_t pixels_of(const Shape& shape) {
  return shape.rank() < 2 ? 1 : shape.elements_from(1) / std::max<int64_t>(shape.back(), 1);
}

Shape tile_shape(const Shape& shape, Unit unit, int64_t units) {
  if (unit == Unit::pixel) return {units, shape.rank() < 2 ? 1 : shape.back()};
  Shape tile = shape;
  tile[0] = units;
  return tile;
}

// Some attributes contain the batch size.
ir::Attributes tile_attributes(const ir::Node& node, int64_t units) {
  ir::Attributes attributes = node.attributes();
  for (const char* name : {"half_rounding", "half_overflow", "half_stream", "half_partials"}) {
    attributes.erase(name);
  }
  for (const char* name : {"size", "shape"}) {
    if (!attributes.has(name) || !node.op().starts_with("slice")) continue;
    ir::Ints shape = attributes.get_ints(name);
    shape[0] = units;
    attributes.set(name, shape);
  }
  return attributes;
}

}  // namespace

Cut cut_of(const ir::Node& node, bool native) {
  const CutRule& rule = rule_of(node.op());
  Cut cut{.unit = rule.unit};
  const Shape* rows = nullptr;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const auto& names = rule.whole;
    const bool whole =
        std::find(names.begin(), names.end(), ops::input_name(node, i)) != names.end();
    cut.inputs.push_back(whole ? Share::whole : Share::rows);
    cut.kept.push_back(native && is_half(node.input(i)->type().dtype) &&
                       ops::input_name(node, i) != "bias");
    if (!whole && rows == nullptr) rows = &node.input(i)->shape();
  }
  PANDO_CHECK(rows != nullptr, node.label(), " has no input that can be cut into tiles");
  for (size_t i = 0; i < cut.inputs.size(); ++i) {
    const Shape& shape = node.input(static_cast<int>(i))->shape();
    PANDO_CHECK(cut.inputs[i] == Share::whole || (shape.rank() > 0 && shape[0] == (*rows)[0]),
                node.label(), ": input ", i, " is ", shape,
                ", which does not have one row per sample; add it to the op's rule in rule_of()");
  }
  const bool sums = ops::has_trait(node, ops::Trait::batch_sum);
  const Share made = node.op() == "batch_moments" ? Share::moments : Share::sum;
  cut.outputs.assign(node.outputs().size(), sums ? made : Share::rows);
  cut.unit_pixels = cut.unit == Unit::pixel ? pixels_of(*rows) : 1;
  cut.units = (*rows)[0] * cut.unit_pixels;
  return cut;
}

Twin::Twin(const ir::Node& node, const Cut& cut, int64_t units) {
  std::vector<ir::Value*> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const ir::TensorType& type = node.input(i)->type();
    ir::TensorType tile{is_half(type.dtype) ? DType::f32 : type.dtype, type.shape};
    if (cut.inputs[static_cast<size_t>(i)] == Share::rows) {
      tile.shape = tile_shape(type.shape, cut.unit, units);
    }
    inputs.push_back(graph_.add_input(concat("in", i), ir::InputRole::variable, tile));
  }
  node_ = graph_.append({.op = node.op(),
                         .inputs = std::move(inputs),
                         .outputs = node.num_outputs(),
                         .attributes = tile_attributes(node, units),
                         .name = node.name()});
  const auto types = ops::infer_types(*node_);
  for (int i = 0; i < node_->num_outputs(); ++i) {
    node_->output(i)->set_type(types[static_cast<size_t>(i)]);
  }
  for (int i = 0; i < node_->num_inputs(); ++i) {
    ir::Value* value = node_->input(i);
    if (!cut.kept[static_cast<size_t>(i)]) continue;
    value->set_type({node.input(i)->type().dtype, value->shape()});
  }
}

}  // namespace pando::kernels::half
