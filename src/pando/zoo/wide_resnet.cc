// Wide residual networks for 32x32 images (Zagoruyko, Komodakis 2016): normalisation and activation
// come before each convolution.
// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

SymbolicTensor wide_conv(const SymbolicTensor& x, int64_t filters, int64_t kernel, int64_t stride,
                         const std::string& name) {
  return Conv2D({.filters = filters,
                 .kernel = {kernel, kernel},
                 .strides = {stride, stride},
                 .padding = "symmetric",
                 .use_bias = false,
                 .kernel_initializer = HeNormal(),
                 .name = name})(x);
}

}  // namespace

Network cifar_wide_resnet(const Shape& input_shape, int64_t classes,
                          const WideResnetOptions& options) {
  const NormOptions norm = zoo::with_epsilon(options.norm, zoo::kTorchEpsilon);
  const auto norm_relu = [&](const SymbolicTensor& x, int64_t channels, const std::string& name) {
    return ReLU({.name = name + "_relu"})(
        zoo::normalise(x, norm, {.name = name + "_bn", .channels = channels}));
  };
  const SymbolicTensor input = Input(input_shape);
  int64_t channels = 16;
  SymbolicTensor x = wide_conv(input, channels, 3, 1, "conv1_conv");
  for (int64_t stack = 0; stack < 3; ++stack) {
    const int64_t filters = (int64_t{16} << stack) * options.width;
    for (int64_t block = 1; block <= options.blocks; ++block) {
      const std::string name = concat("conv", stack + 2, "_block", block);
      const int64_t stride = block == 1 && stack > 0 ? 2 : 1;
      const SymbolicTensor active = norm_relu(x, channels, name + "_1");
      const SymbolicTensor shortcut =
          channels == filters ? x : wide_conv(active, filters, 1, stride, name + "_0_conv");
      SymbolicTensor y = wide_conv(active, filters, 3, stride, name + "_1_conv");
      y = wide_conv(norm_relu(y, filters, name + "_2"), filters, 3, 1, name + "_2_conv");
      x = Add({.name = name + "_add"})({shortcut, y});
      channels = filters;
    }
  }
  x = GlobalAveragePooling2D({.name = "avg_pool"})(norm_relu(x, channels, "last"));
  return Network(input, Dense({.units = classes, .activation = "softmax", .name = "fc_layer"})(x));
}

}  // namespace pando
