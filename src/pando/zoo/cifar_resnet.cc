// Residual networks for 32x32 images: three stacks of 16, 32 and 64 filters, shortcuts without
// weights (He, Zhang, Ren, Sun 2015, section 4.2, option A).
// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

class CifarBuilder {
 public:
  explicit CifarBuilder(const CifarResnetOptions& options) : options_(options) {}

  SymbolicTensor conv(const SymbolicTensor& x, int64_t filters, int64_t stride,
                      const std::string& name) const {
    return Conv2D({.filters = filters,
                   .kernel = {3, 3},
                   .strides = {stride, stride},
                   .padding = "same",
                   .use_bias = false,
                   .kernel_initializer = VarianceScaling(),
                   .name = name})(x);
  }

  SymbolicTensor norm(const SymbolicTensor& x, int64_t filters, const std::string& name) const {
    return zoo::normalise(x, options_.norm, {.name = name, .channels = filters});
  }

  SymbolicTensor block(const SymbolicTensor& x, int64_t filters, bool downsample,
                       const std::string& name) const {
    SymbolicTensor y = conv(x, filters, downsample ? 2 : 1,
                            name + (downsample ? "_layer1_conv_ds" : "_layer1_conv"));
    y = ReLU({.name = name + "_layer1_relu"})(norm(y, filters, name + "_layer1_bn"));
    y = norm(conv(y, filters, 1, name + "_layer2_conv"), filters, name + "_layer2_bn");
    const SymbolicTensor shortcut =
        downsample ? Subsample({.stride = 2, .channels = filters, .name = name + "_shortcut"})(x)
                   : x;
    return ReLU({.name = name + "_post_addition_relu"})(
        Add({.name = name + "_add"})({y, shortcut}));
  }

 private:
  CifarResnetOptions options_;
};

}  // namespace

Network cifar_resnet(const Shape& input_shape, int64_t classes, const CifarResnetOptions& options) {
  const CifarBuilder builder(options);
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = builder.conv(input, 16, 1, "conv1_conv");
  x = ReLU({.name = "conv1_relu"})(builder.norm(x, 16, "conv1_bn"));
  for (int stack = 0; stack < 3; ++stack) {
    for (int64_t block = 1; block <= options.blocks; ++block) {
      const bool downsample = stack > 0 && block == 1;
      x = builder.block(x, int64_t{16} << stack, downsample,
                        concat("conv", stack + 2, "_block", block));
    }
  }
  x = GlobalAveragePooling2D({.name = "avg_pool"})(x);
  return Network(input, Dense({.units = classes,
                               .activation = "softmax",
                               .kernel_initializer = VarianceScaling(),
                               .name = "fc_layer"})(x));
}

}  // namespace pando
