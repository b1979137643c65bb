// Convolutions in two and three dimensions.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

struct ConvSpec {
  int64_t filters = 0;
  ir::Ints kernel;
  ir::Ints strides;
  ir::Ints dilation;
  std::string padding;
  int64_t groups = 1;
  std::string activation;
  bool use_bias = true;
  Initializer kernel_initializer;
  Initializer bias_initializer;
  std::string name;
};

class ConvLayer : public LayerDefinition {
 public:
  explicit ConvLayer(ConvSpec spec) : spec_(std::move(spec)) {
    check_activation(class_name(), spec_.activation);
    check_positive(class_name(), "filters", spec_.filters);
    check_positive(class_name(), "groups", spec_.groups);
    for (const int64_t extent : spec_.kernel) check_positive(class_name(), "kernel", extent);
  }
  std::string class_name() const override { return concat("Conv", spec_.kernel.size(), "D"); }
  std::string stem() const override { return concat("conv", spec_.kernel.size(), "d"); }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    const Shape& input = inputs[0];
    if (input.rank() != static_cast<int>(spec_.kernel.size()) + 1) {
      throw InvalidArgument(class_name(), " '", layer, "': expected samples with ",
                            spec_.kernel.size(), " spatial axes and channels, got shape ", input);
    }
    std::vector<int64_t> shape = spec_.kernel;
    shape.push_back(std::max<int64_t>(input.back() / spec_.groups, 1));
    shape.push_back(spec_.filters);
    std::vector<WeightSpec> specs = {{"kernel", Shape(shape), spec_.kernel_initializer}};
    if (spec_.use_bias) specs.push_back({"bias", {spec_.filters}, spec_.bias_initializer});
    return specs;
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    std::vector<ir::Value*> operands = {inputs[0], builder.weight("kernel")};
    if (spec_.use_bias) operands.push_back(builder.weight("bias"));
    ir::Attributes attributes = padding_attributes(spec_.padding, spec_.kernel, spec_.dilation);
    attributes.set("strides", spec_.strides);
    attributes.set("dilations", spec_.dilation);
    attributes.set("groups", spec_.groups);
    ir::Value* y = builder.append("conv", std::move(operands), attributes)->output();
    return apply_activation(builder, spec_.activation, y);
  }

 private:
  ConvSpec spec_;
};

template <typename Options>
Layer make_conv(Options options) {
  return make_layer<ConvLayer>(ConvSpec{.filters = options.filters,
                                        .kernel = ints(options.kernel),
                                        .strides = ints(options.strides),
                                        .dilation = ints(options.dilation),
                                        .padding = options.padding,
                                        .groups = options.groups,
                                        .activation = options.activation,
                                        .use_bias = options.use_bias,
                                        .kernel_initializer = options.kernel_initializer,
                                        .bias_initializer = options.bias_initializer,
                                        .name = options.name});
}

}  // namespace

}  // namespace nn

Layer Conv2D(Conv2DOptions options) { return nn::make_conv(std::move(options)); }
Layer Conv3D(Conv3DOptions options) { return nn::make_conv(std::move(options)); }

}  // namespace pando
