// Residual networks for ImageNet (He, Zhang, Ren, Sun 2015): four stacks, each of which begins with
// a projection. The network with 50 layers has its strides in the 3x3 convolutions ("v1.5").
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

struct Conv {
  int64_t filters = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
};

class ResnetBuilder {
 public:
  explicit ResnetBuilder(const ResnetOptions& options) : options_(options) {}

  // A convolution without bias and its normalisation: <name>_conv, <name>_bn.
  SymbolicTensor conv_norm(const SymbolicTensor& x, const Conv& conv, const std::string& name,
                           Initializer gamma = Ones()) const {
    const SymbolicTensor y = Conv2D({.filters = conv.filters,
                                     .kernel = {conv.kernel, conv.kernel},
                                     .strides = {conv.stride, conv.stride},
                                     .padding = options_.padding,
                                     .use_bias = false,
                                     .kernel_initializer = VarianceScaling(),
                                     .name = name + "_conv"})(x);
    return zoo::normalise(
        y, options_.norm,
        {.name = name + "_bn", .channels = conv.filters, .gamma = std::move(gamma)});
  }

  SymbolicTensor start(const SymbolicTensor& image) const {
    SymbolicTensor x =
        ZeroPadding2D({.top_bottom = {3, 3}, .left_right = {3, 3}, .name = "conv1_pad"})(image);
    x = Conv2D({.filters = 64,
                .kernel = {7, 7},
                .strides = {2, 2},
                .use_bias = false,
                .name = "conv1_conv"})(x);
    x = zoo::normalise(x, options_.norm, {.name = "conv1_bn", .channels = 64});
    x = ZeroPadding2D({.name = "pool1_pad"})(ReLU({.name = "conv1_relu"})(x));
    return MaxPooling2D({.pool = {3, 3}, .strides = {2, 2}, .name = "pool1_pool"})(x);
  }

  SymbolicTensor block(const SymbolicTensor& x, int64_t filters, int64_t stride, bool projects,
                       const std::string& name) const {
    const int64_t outputs = options_.bottleneck ? 4 * filters : filters;
    const SymbolicTensor shortcut = projects ? conv_norm(x, {outputs, 1, stride}, name + "_0") : x;
    const SymbolicTensor y = options_.bottleneck ? bottleneck(x, filters, stride, projects, name)
                                                 : basic(x, filters, stride, name);
    return ReLU({.name = name + "_out"})(Add({.name = name + "_add"})({shortcut, y}));
  }

 private:
  SymbolicTensor basic(const SymbolicTensor& x, int64_t filters, int64_t stride,
                       const std::string& name) const {
    const SymbolicTensor y = conv_norm(x, {filters, 3, stride}, name + "_1");
    return conv_norm(ReLU({.name = name + "_1_relu"})(y), {filters, 3}, name + "_2");
  }

  // A block without a projection is initially the identity.
  SymbolicTensor bottleneck(const SymbolicTensor& x, int64_t filters, int64_t stride, bool projects,
                            const std::string& name) const {
    SymbolicTensor y = conv_norm(x, {filters, 1}, name + "_1");
    y = conv_norm(ReLU({.name = name + "_1_relu"})(y), {filters, 3, stride}, name + "_2");
    return conv_norm(ReLU({.name = name + "_2_relu"})(y), {4 * filters, 1}, name + "_3",
                     projects ? Ones() : Zeros());
  }

  ResnetOptions options_;
};

}  // namespace

Network resnet(const Shape& input_shape, int64_t classes, const ResnetOptions& options) {
  const ResnetBuilder builder(options);
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = builder.start(input);
  for (size_t stack = 0; stack < options.blocks.size(); ++stack) {
    for (int64_t block = 1; block <= options.blocks[stack]; ++block) {
      const bool first = block == 1;
      x = builder.block(x, int64_t{64} << stack, first && stack > 0 ? 2 : 1, first,
                        concat("conv", stack + 2, "_block", block));
    }
  }
  x = GlobalAveragePooling2D({.name = "avg_pool"})(x);
  return Network(input,
                 Dense({.units = classes, .activation = "softmax", .name = "predictions"})(x));
}

}  // namespace pando
