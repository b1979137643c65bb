// Layers of several inputs, and layers of several ops.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/base/error.h"
#include "pando/keras/importer_impl.h"

namespace pando::keras {
namespace {

class ComposedLayer : public nn::LayerDefinition {
 public:
  explicit ComposedLayer(ComposedSpec spec) : spec_(std::move(spec)) {}
  std::string class_name() const override { return spec_.class_name; }
  std::string stem() const override { return spec_.stem; }
  int least_inputs() const override { return spec_.inputs; }
  int most_inputs() const override { return spec_.inputs; }
  std::vector<nn::WeightSpec> weights(const std::string& /*layer*/,
                                      const std::vector<Shape>& /*inputs*/) const override {
    return spec_.weights;
  }
  ir::Value* build(nn::GraphBuilder& builder,
                   const std::vector<ir::Value*>& inputs) const override {
    return spec_.build(builder, inputs);
  }

 private:
  ComposedSpec spec_;
};

using MakeMerging = Layer (*)(NameOption);

MadeLayer merging(const LayerPlace& place, const char* function, MakeMerging make) {
  if (auto made = with_number(place, function)) return std::move(*made);
  for (const Shape& shape : place.inputs) {
    if (shape.rank() == place.inputs[0].rank()) continue;
    throw Unsupported(place.label(), ": expected inputs with equally many axes, got ",
                      place.inputs[0], " and ", shape);
  }
  return {make({place.name})};
}

MadeLayer make_add(const LayerPlace& place) { return merging(place, "add", Add); }
MadeLayer make_subtract(const LayerPlace& place) { return merging(place, "subtract", Subtract); }
MadeLayer make_multiply(const LayerPlace& place) { return merging(place, "multiply", Multiply); }
MadeLayer make_divide(const LayerPlace& place) { return merging(place, "divide", Divide); }
MadeLayer make_maximum(const LayerPlace& place) { return merging(place, "maximum", Maximum); }
MadeLayer make_minimum(const LayerPlace& place) { return merging(place, "minimum", Minimum); }
MadeLayer make_average(const LayerPlace& place) { return merging(place, "", Average); }

MadeLayer make_concatenate(const LayerPlace& place) {
  const auto rank = static_cast<int64_t>(place.inputs[0].rank()) + 1;
  const int64_t axis = axis_of(place, place.get<int64_t>("axis", -1), rank);
  return {Concatenate({.axis = static_cast<int>(axis), .name = place.name})};
}

// The inner products of two samples along one axis of each: vectors or matrices.
MadeLayer make_dot(const LayerPlace& place) {
  place.only("normalize", false);
  if (place.inputs.size() != 2 || place.inputs[0].rank() != place.inputs[1].rank() ||
      place.inputs[0].rank() > 2) {
    throw Unsupported(place.label(), ": expected two vectors or two matrices");
  }
  const std::vector<int64_t> axes = place.ints("axes", 2);
  const auto rank = static_cast<int64_t>(place.inputs[0].rank()) + 1;
  const bool vectors = rank == 2;
  const int64_t first = axis_of(place, axes[0], rank), second = axis_of(place, axes[1], rank);
  const int64_t transpose_a = vectors ? 0 : first == 1 ? 1 : 0;
  const int64_t transpose_b = vectors ? 1 : second == 2 ? 1 : 0;
  ComposedSpec spec{.class_name = "Dot", .stem = "dot", .inputs = 2};
  spec.build = [=](nn::GraphBuilder& builder, const std::vector<ir::Value*>& inputs) {
    std::vector<ir::Value*> operands = inputs;
    for (ir::Value*& value : operands) {
      if (!vectors) continue;
      value = builder.append("reshape", {value}, {{"shape", ir::Ints{1, value->shape().back()}}})
                  ->output();
    }
    ir::Value* y = builder
                       .append("matmul", operands,
                               {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}})
                       ->output();
    return vectors ? builder.append("reshape", {y}, {{"shape", ir::Ints{1}}})->output() : y;
  };
  return {composed(std::move(spec), place.name)};
}

}  // namespace

Layer composed(ComposedSpec spec, std::string name) {
  return Layer(std::make_shared<ComposedLayer>(std::move(spec)), std::move(name));
}

std::vector<LayerImport> merging_imports() {
  return {{"Add", make_add},         {"Subtract", make_subtract}, {"Multiply", make_multiply},
          {"Divide", make_divide},   {"TrueDivide", make_divide}, {"Maximum", make_maximum},
          {"Minimum", make_minimum}, {"Average", make_average},   {"Concatenate", make_concatenate},
          {"Dot", make_dot}};
}

}  // namespace pando::keras
