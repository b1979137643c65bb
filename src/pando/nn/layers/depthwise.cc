// Depthwise and separable convolutions. A depthwise convolution is a convolution with a group per
// channel; in files its weights have the shape of Keras.
// SPDX-License-Identifier: MIT
#include "pando/base/checked.h"
#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

// filters = 0: without the convolution of 1x1.
struct DepthwiseSpec : SeparableConv2DOptions {
  bool pointwise() const { return filters > 0; }
};

class DepthwiseLayer : public LayerDefinition {
 public:
  explicit DepthwiseLayer(DepthwiseSpec spec) : spec_(std::move(spec)) {
    check_activation(class_name(), spec_.activation);
    check_positive(class_name(), "depth_multiplier", spec_.depth_multiplier);
    for (const int64_t extent : spec_.kernel) check_positive(class_name(), "kernel", extent);
  }
  std::string class_name() const override {
    return spec_.pointwise() ? "SeparableConv2D" : "DepthwiseConv2D";
  }
  std::string stem() const override {
    return spec_.pointwise() ? "separable_conv2d" : "depthwise_conv2d";
  }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    if (inputs[0].rank() != 3) {
      throw InvalidArgument(class_name(), " '", layer,
                            "': expected samples with height, width and channels, got shape ",
                            inputs[0]);
    }
    const auto& [height, width] = spec_.kernel;
    const int64_t channels = inputs[0].back();
    const int64_t between =
        checked_product(concat(class_name(), " '", layer, "': channels times depth_multiplier"),
                        {channels, spec_.depth_multiplier});
    std::vector<WeightSpec> specs = {
        {.name = "depthwise_kernel",
         .shape = {height, width, 1, between},
         .initializer = spec_.depthwise_initializer,
         .keras_shape = {height, width, channels, spec_.depth_multiplier}}};
    if (spec_.pointwise()) {
      specs.push_back(
          {"pointwise_kernel", {1, 1, between, spec_.filters}, spec_.pointwise_initializer});
    }
    const int64_t results = spec_.pointwise() ? spec_.filters : between;
    if (spec_.use_bias) specs.push_back({"bias", {results}, spec_.bias_initializer});
    return specs;
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    std::vector<ir::Value*> operands = {inputs[0], builder.weight("depthwise_kernel")};
    ir::Attributes attributes =
        padding_attributes(spec_.padding, ints(spec_.kernel), ints(spec_.dilation));
    attributes.set("strides", ints(spec_.strides));
    attributes.set("dilations", ints(spec_.dilation));
    attributes.set("groups", inputs[0]->shape().back());
    if (spec_.pointwise()) {
      ir::Value* between = builder.append("conv", std::move(operands), attributes)->output();
      operands = {between, builder.weight("pointwise_kernel")};
      attributes = {};
    }
    if (spec_.use_bias) operands.push_back(builder.weight("bias"));
    ir::Value* y = builder.append("conv", std::move(operands), attributes)->output();
    return apply_activation(builder, spec_.activation, y);
  }

 private:
  DepthwiseSpec spec_;
};

}  // namespace

}  // namespace nn

Layer DepthwiseConv2D(DepthwiseConv2DOptions options) {
  return nn::make_layer<nn::DepthwiseLayer>(
      nn::DepthwiseSpec{{.kernel = options.kernel,
                         .strides = options.strides,
                         .padding = options.padding,
                         .dilation = options.dilation,
                         .depth_multiplier = options.depth_multiplier,
                         .activation = options.activation,
                         .use_bias = options.use_bias,
                         .depthwise_initializer = options.depthwise_initializer,
                         .bias_initializer = options.bias_initializer,
                         .name = options.name}});
}

Layer SeparableConv2D(SeparableConv2DOptions options) {
  nn::check_positive("SeparableConv2D", "filters", options.filters);
  return nn::make_layer<nn::DepthwiseLayer>(nn::DepthwiseSpec{std::move(options)});
}

}  // namespace pando
