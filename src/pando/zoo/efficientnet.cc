// EfficientNet B0 (Tan, Le 2019): inverted residual blocks whose channels are weighed by what the
// whole picture shows (squeeze and excitation).
// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

struct EfficientStack {
  int64_t widen, kernel, filters, blocks, stride;
};

struct EfficientBlock {
  int64_t channels, widen, kernel, filters, stride;
  double drop;  // how often the block is left out in training
};

class EfficientnetBuilder {
 public:
  explicit EfficientnetBuilder(const NormOptions& norm) : norm_(norm) {}

  SymbolicTensor conv(const SymbolicTensor& x, int64_t filters, int64_t kernel, int64_t stride,
                      const std::string& name, bool active = true) const {
    const SymbolicTensor y = Conv2D({.filters = filters,
                                     .kernel = {kernel, kernel},
                                     .strides = {stride, stride},
                                     .padding = "symmetric",
                                     .use_bias = false,
                                     .kernel_initializer = HeNormal(),
                                     .name = name + "_conv"})(x);
    return finish(y, filters, name, active);
  }

  SymbolicTensor block(const SymbolicTensor& x, const EfficientBlock& how,
                       const std::string& name) const {
    const int64_t wide = how.channels * how.widen;
    SymbolicTensor y = how.widen > 1 ? conv(x, wide, 1, 1, name + "_expand") : x;
    y = DepthwiseConv2D({.kernel = {how.kernel, how.kernel},
                         .strides = {how.stride, how.stride},
                         .padding = "symmetric",
                         .use_bias = false,
                         .depthwise_initializer = HeNormal(),
                         .name = name + "_depthwise_conv"})(y);
    y = finish(y, wide, name + "_depthwise", true);
    y = weigh_channels(y, wide, how.channels / 4, name + "_se");
    y = conv(y, how.filters, 1, 1, name + "_project", false);
    if (how.stride > 1 || how.channels != how.filters) return y;
    y = StochasticDepth({.rate = how.drop, .name = name + "_drop"})(y);
    return Add({.name = name + "_add"})({x, y});
  }

 private:
  static SymbolicTensor weigh_channels(const SymbolicTensor& x, int64_t channels, int64_t fewer,
                                       const std::string& name) {
    SymbolicTensor s = GlobalAveragePooling2D({.name = name + "_pool"})(x);
    s = Reshape({.shape = {1, 1, channels}, .name = name + "_reshape"})(s);
    s = Conv2D({.filters = fewer, .activation = "swish", .name = name + "_reduce"})(s);
    s = Conv2D({.filters = channels, .activation = "sigmoid", .name = name + "_expand"})(s);
    return Multiply({.name = name + "_weigh"})({x, s});
  }

  SymbolicTensor finish(const SymbolicTensor& x, int64_t channels, const std::string& name,
                        bool active) const {
    const SymbolicTensor y = zoo::normalise(x, norm_, {.name = name + "_bn", .channels = channels});
    return active ? Activation("swish", {.name = name + "_swish"})(y) : y;
  }

  NormOptions norm_;
};

}  // namespace

Network efficientnet_b0(const Shape& input_shape, int64_t classes, const NormOptions& norm) {
  const std::array<EfficientStack, 7> stacks = {{{1, 3, 16, 1, 1},
                                                 {6, 3, 24, 2, 2},
                                                 {6, 5, 40, 2, 2},
                                                 {6, 3, 80, 3, 2},
                                                 {6, 5, 112, 3, 1},
                                                 {6, 5, 192, 4, 2},
                                                 {6, 3, 320, 1, 1}}};
  constexpr double kDrop = 0.2;  // of the last block
  constexpr int kBlocks = 16;
  const EfficientnetBuilder builder(zoo::with_epsilon(norm, zoo::kTorchEpsilon));
  const SymbolicTensor input = Input(input_shape);
  int64_t channels = 32;
  SymbolicTensor x = builder.conv(input, channels, 3, 2, "conv1");
  int number = 0;
  for (const EfficientStack& stack : stacks) {
    for (int64_t i = 0; i < stack.blocks; ++i, ++number) {
      x = builder.block(x,
                        {.channels = channels,
                         .widen = stack.widen,
                         .kernel = stack.kernel,
                         .filters = stack.filters,
                         .stride = i == 0 ? stack.stride : 1,
                         .drop = kDrop * number / kBlocks},
                        concat("block", number + 1));
      channels = stack.filters;
    }
  }
  x = builder.conv(x, 1280, 1, 1, "conv_last");
  x = GlobalAveragePooling2D({.name = "avg_pool"})(x);
  x = Dropout({.rate = 0.2, .name = "dropout"})(x);
  return Network(input,
                 Dense({.units = classes, .activation = "softmax", .name = "predictions"})(x));
}

}  // namespace pando
