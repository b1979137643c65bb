// The fully connected layer.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

class DenseLayer : public LayerDefinition {
 public:
  explicit DenseLayer(DenseOptions options) : options_(std::move(options)) {
    check_activation("Dense", options_.activation);
    check_positive("Dense", "units", options_.units);
  }
  std::string class_name() const override { return "Dense"; }
  std::string stem() const override { return "dense"; }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    if (inputs[0].rank() != 1) {
      throw InvalidArgument("Dense '", layer, "': expected samples with one axis, got shape ",
                            inputs[0], "; put a Flatten before it");
    }
    std::vector<WeightSpec> specs = {
        {"kernel", {inputs[0][0], options_.units}, options_.kernel_initializer}};
    if (options_.use_bias) specs.push_back({"bias", {options_.units}, options_.bias_initializer});
    return specs;
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    std::vector<ir::Value*> operands = {inputs[0], builder.weight("kernel")};
    if (options_.use_bias) operands.push_back(builder.weight("bias"));
    ir::Value* y = builder.append("dense", std::move(operands))->output();
    return apply_activation(builder, options_.activation, y);
  }

 private:
  DenseOptions options_;
};

}  // namespace

}  // namespace nn

Layer Dense(DenseOptions options) { return nn::make_layer<nn::DenseLayer>(std::move(options)); }

}  // namespace pando
