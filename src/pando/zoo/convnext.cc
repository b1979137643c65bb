// ConvNeXt, tiny (Liu and others 2022): large depthwise convolutions, normalisation of the channels
// of each pixel, and branches that begin near zero.
// SPDX-License-Identifier: MIT
#include "pando/base/random.h"
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

Initializer small_normal() {
  return {"truncated_normal(0.02)", [](const Shape&, std::span<float> values, uint64_t key) {
            RandomStream random(key);
            for (float& value : values) value = 0.02f * random.next_truncated_normal();
          }};
}

SymbolicTensor channel_norm(const SymbolicTensor& x, const std::string& name) {
  return LayerNormalization({.epsilon = 1e-6, .name = name + "_ln"})(x);
}

SymbolicTensor convnext_block(const SymbolicTensor& x, int64_t channels, double drop,
                              const std::string& name) {
  SymbolicTensor y = DepthwiseConv2D({.kernel = {7, 7},
                                      .padding = "same",
                                      .depthwise_initializer = small_normal(),
                                      .name = name + "_depthwise"})(x);
  y = channel_norm(y, name);
  y = Conv2D({.filters = 4 * channels,
              .activation = "gelu",
              .kernel_initializer = small_normal(),
              .name = name + "_expand"})(y);
  y = Conv2D(
      {.filters = channels, .kernel_initializer = small_normal(), .name = name + "_project"})(y);
  // One factor per channel.
  y = DepthwiseConv2D(
      {.use_bias = false, .depthwise_initializer = Constant(1e-6), .name = name + "_scale"})(y);
  y = StochasticDepth({.rate = drop, .name = name + "_drop"})(y);
  return Add({.name = name + "_add"})({x, y});
}

SymbolicTensor patches(const SymbolicTensor& x, int64_t filters, int64_t size,
                       const std::string& name) {
  return Conv2D({.filters = filters,
                 .kernel = {size, size},
                 .strides = {size, size},
                 .kernel_initializer = small_normal(),
                 .name = name + "_conv"})(x);
}

}  // namespace

Network convnext_tiny(const Shape& input_shape, int64_t classes) {
  const std::array<int, 4> blocks = {3, 3, 9, 3};
  constexpr double kDrop = 0.1;  // of the last block
  constexpr int kBlocks = 18;
  const SymbolicTensor input = Input(input_shape);
  int64_t channels = 96;
  SymbolicTensor x = channel_norm(patches(input, channels, 4, "stem"), "stem");
  int number = 0;
  for (size_t stack = 0; stack < blocks.size(); ++stack) {
    const std::string name = concat("stack", stack + 1);
    if (stack > 0) {
      channels *= 2;
      x = patches(channel_norm(x, name), channels, 2, name);
    }
    for (int i = 1; i <= blocks[stack]; ++i, ++number) {
      x = convnext_block(x, channels, kDrop * number / (kBlocks - 1), concat(name, "_block", i));
    }
  }
  x = channel_norm(GlobalAveragePooling2D({.name = "avg_pool"})(x), "last");
  return Network(input,
                 Dense({.units = classes, .activation = "softmax", .name = "predictions"})(x));
}

}  // namespace pando
