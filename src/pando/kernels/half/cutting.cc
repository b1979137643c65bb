// SPDX-License-Identifier: MIT
#include "pando/kernels/half/cutting.h"

#include <algorithm>
#include <set>

#include "pando/base/error.h"
#include "pando/kernels/half/rounding_key.h"
#include "pando/ops/op.h"

namespace pando::kernels::half {

namespace {

int64_t pixels_of(const Shape& shape) {
  return shape.rank() < 2 ? 1 : shape.elements_from(1) / std::max<int64_t>(shape.back(), 1);
}

// Whether all operands with samples have the same pixels: one that is repeated over pixels has
// fewer.
bool has_same_pixels(const ir::Node& node) {
  std::set<int64_t> counts;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!ops::input_spec(node, i).shared) counts.insert(pixels_of(node.input(i)->shape()));
  }
  if (!ops::has_trait(node, ops::Trait::batch_sum)) {
    for (const ir::Value* output : node.outputs()) counts.insert(pixels_of(output->shape()));
  }
  return counts.size() == 1;
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
  for (const ops::AttributeSpec& spec : ops::definition(node).attributes) {
    if (!spec.holds_batch || !attributes.has(spec.name)) continue;
    ir::Ints shape = attributes.get_ints(spec.name);
    shape[0] = units;
    attributes.set(spec.name, shape);
  }
  return attributes;
}

}  // namespace

Cut cut_of(const ir::Node& node, bool native) {
  const bool pixels = ops::has_trait(node, ops::Trait::pixelwise) && has_same_pixels(node);
  Cut cut{.unit = pixels ? Unit::pixel : Unit::sample};
  const Shape* rows = nullptr;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const ops::InputSpec& input = ops::input_spec(node, i);
    const bool whole = input.shared;
    cut.inputs.push_back(whole ? Share::whole : Share::rows);
    cut.kept.push_back(native && is_half(node.input(i)->type().dtype) && input.name != "bias");
    if (!whole && rows == nullptr) rows = &node.input(i)->shape();
  }
  PANDO_CHECK(rows != nullptr, node.label(), " has no input that can be cut into tiles");
  for (size_t i = 0; i < cut.inputs.size(); ++i) {
    const Shape& shape = node.input(static_cast<int>(i))->shape();
    PANDO_CHECK(
        cut.inputs[i] == Share::whole || (shape.rank() > 0 && shape[0] == (*rows)[0]), node.label(),
        ": input ", i, " is ", shape,
        ", which does not have one row per sample; mark it as shared in the record of the op");
  }
  const bool sums = ops::has_trait(node, ops::Trait::batch_sum);
  const bool moments = ops::has_trait(node, ops::Trait::moments);
  const Share made = moments ? Share::moments : Share::sum;
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
