// Transposed convolutions in two and three dimensions. The filter is [spatial..., out, in], as in
// Keras.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/nn/layers/support.h"

namespace pando {

namespace nn {

namespace {

struct ConvTransposeSpec {
  int64_t filters = 0;
  ir::Ints kernel;
  ir::Ints strides;
  std::string padding;
  ir::Ints output_padding;  // -1: none
  ir::Ints dilation;
  std::string activation;
  bool use_bias = true;
  Initializer kernel_initializer;
  Initializer bias_initializer;
  std::string name;
};

class ConvTransposeLayer : public LayerDefinition {
 public:
  explicit ConvTransposeLayer(ConvTransposeSpec spec) : spec_(std::move(spec)) {
    check_activation(class_name(), spec_.activation);
    check_positive(class_name(), "filters", spec_.filters);
    if (spec_.padding != "valid" && spec_.padding != "same") {
      throw InvalidArgument(class_name(), ": padding: expected \"valid\" or \"same\", got \"",
                            spec_.padding, "\"");
    }
    for (size_t axis = 0; axis < spec_.kernel.size(); ++axis) {
      check_extent(class_name(), "kernel", spec_.kernel[axis]);
      check_extent(class_name(), "strides", spec_.strides[axis]);
      check_extent(class_name(), "dilation", spec_.dilation[axis]);
      if (spec_.output_padding[axis] < -1 || spec_.output_padding[axis] >= spec_.strides[axis]) {
        throw InvalidArgument(class_name(), ": output_padding: expected less than the stride ",
                              spec_.strides[axis], ", got ", spec_.output_padding[axis]);
      }
    }
  }
  std::string class_name() const override {
    return concat("Conv", spec_.kernel.size(), "DTranspose");
  }
  std::string stem() const override { return concat("conv", spec_.kernel.size(), "d_transpose"); }

  std::vector<WeightSpec> weights(const std::string& layer,
                                  const std::vector<Shape>& inputs) const override {
    const Shape& input = inputs[0];
    if (input.rank() != static_cast<int>(spec_.kernel.size()) + 1) {
      throw InvalidArgument(class_name(), " '", layer, "': expected samples with ",
                            spec_.kernel.size(), " spatial axes and channels, got shape ", input);
    }
    std::vector<int64_t> shape = spec_.kernel;
    shape.push_back(spec_.filters);
    shape.push_back(input.back());
    std::vector<WeightSpec> specs = {{"kernel", Shape(shape), spec_.kernel_initializer}};
    if (spec_.use_bias) specs.push_back({"bias", {spec_.filters}, spec_.bias_initializer});
    return specs;
  }

  ir::Value* build(GraphBuilder& builder, const std::vector<ir::Value*>& inputs) const override {
    std::vector<ir::Value*> operands = {inputs[0], builder.weight("kernel")};
    if (spec_.use_bias) operands.push_back(builder.weight("bias"));
    const ir::Attributes attributes = {{"strides", spec_.strides},
                                       {"dilations", spec_.dilation},
                                       {"padding", spec_.padding},
                                       {"output", output_extents(inputs[0]->shape())}};
    ir::Value* y = builder.append("conv_transpose", std::move(operands), attributes)->output();
    return apply_activation(builder, spec_.activation, y);
  }

 private:
  ir::Ints output_extents(const Shape& x) const {
    ir::Ints extents;
    for (size_t axis = 0; axis < spec_.kernel.size(); ++axis) {
      const int64_t input = x[static_cast<int>(axis) + 1];
      const int64_t stride = spec_.strides[axis];
      const int64_t span = (spec_.kernel[axis] - 1) * spec_.dilation[axis] + 1;
      const bool same = spec_.padding == "same";
      const int64_t more = spec_.output_padding[axis];
      const int64_t unpadded = same ? 0 : std::max<int64_t>(span - stride, 0);
      extents.push_back(more < 0 ? input * stride + unpadded
                                 : (input - 1) * stride + span - (same ? span / 2 * 2 : 0) + more);
    }
    return extents;
  }

  ConvTransposeSpec spec_;
};

template <typename Options>
Layer make_conv_transpose(Options options) {
  return make_layer<ConvTransposeLayer>(
      ConvTransposeSpec{.filters = options.filters,
                        .kernel = ints(options.kernel),
                        .strides = ints(options.strides),
                        .padding = options.padding,
                        .output_padding = ints(options.output_padding),
                        .dilation = ints(options.dilation),
                        .activation = options.activation,
                        .use_bias = options.use_bias,
                        .kernel_initializer = options.kernel_initializer,
                        .bias_initializer = options.bias_initializer,
                        .name = options.name});
}

}  // namespace

}  // namespace nn

Layer Conv2DTranspose(Conv2DTransposeOptions options) {
  return nn::make_conv_transpose(std::move(options));
}
Layer Conv3DTranspose(Conv3DTransposeOptions options) {
  return nn::make_conv_transpose(std::move(options));
}

}  // namespace pando
