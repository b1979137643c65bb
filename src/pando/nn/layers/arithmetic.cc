// Arithmetic of activations; shapes are repeated by numpy's rule within a sample.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers/one_op.h"

namespace pando {

namespace nn {

namespace {

constexpr int kMostOperands = 64;

Layer arithmetic_layer(std::string class_name, std::string op, int most_inputs,
                       NameOption options) {
  return make_layer<OneOpLayer>(OneOp{.class_name = std::move(class_name),
                                      .stem = op,
                                      .op = op,
                                      .attributes = {},
                                      .least_inputs = 2,
                                      .most_inputs = most_inputs,
                                      .name = std::move(options.name)});
}

class AverageLayer : public LayerDefinition {
 public:
  explicit AverageLayer(const NameOption&) {}
  std::string class_name() const override { return "Average"; }
  std::string stem() const override { return "average"; }
  int least_inputs() const override { return 2; }
  int most_inputs() const override { return kMostOperands; }
  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    ir::Value* sum = inputs[0];
    for (size_t i = 1; i < inputs.size(); ++i) {
      sum = builder.append("add", {sum, inputs[i]})->output();
    }
    const double factor = 1 / static_cast<double>(inputs.size());
    return builder.append("scale", {sum}, {{"factor", factor}})->output();
  }
};

class PReLULayer : public LayerDefinition {
 public:
  explicit PReLULayer(PReLUOptions options) : options_(std::move(options)) {}
  std::string class_name() const override { return "PReLU"; }
  std::string stem() const override { return "p_re_lu"; }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    Shape alpha = inputs[0];
    for (const int axis : options_.shared_axes) {
      if (axis < 1 || axis > alpha.rank()) {
        throw InvalidArgument("PReLU '", layer, "': shared_axes: expected 1 to ", alpha.rank(),
                              ", got ", axis);
      }
      alpha[axis - 1] = 1;
    }
    return {{"alpha", alpha, options_.alpha_initializer}};
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    return builder.append("prelu", {inputs[0], builder.weight("alpha")})->output();
  }

 private:
  PReLUOptions options_;
};

}  // namespace

}  // namespace nn

Layer Add(NameOption options) {
  return nn::arithmetic_layer("Add", "add", nn::kMostOperands, std::move(options));
}
Layer Subtract(NameOption options) {
  return nn::arithmetic_layer("Subtract", "subtract", 2, std::move(options));
}
Layer Multiply(NameOption options) {
  return nn::arithmetic_layer("Multiply", "multiply", nn::kMostOperands, std::move(options));
}
Layer Divide(NameOption options) {
  return nn::arithmetic_layer("Divide", "divide", 2, std::move(options));
}
Layer Maximum(NameOption options) {
  return nn::arithmetic_layer("Maximum", "maximum", nn::kMostOperands, std::move(options));
}
Layer Minimum(NameOption options) {
  return nn::arithmetic_layer("Minimum", "minimum", nn::kMostOperands, std::move(options));
}
Layer Average(NameOption options) { return nn::make_layer<nn::AverageLayer>(std::move(options)); }
Layer PReLU(PReLUOptions options) { return nn::make_layer<nn::PReLULayer>(std::move(options)); }

}  // namespace pando
