// MobileNet V2 (Sandler and others 2018): inverted residual blocks, which widen the channels, apply
// a depthwise convolution and narrow them again.
// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

class MobilenetBuilder {
 public:
  explicit MobilenetBuilder(const NormOptions& norm) : norm_(norm) {}

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

  SymbolicTensor block(const SymbolicTensor& x, int64_t channels, int64_t widen, int64_t filters,
                       int64_t stride, const std::string& name) const {
    const int64_t wide = channels * widen;
    SymbolicTensor y = widen > 1 ? conv(x, wide, 1, 1, name + "_expand") : x;
    y = DepthwiseConv2D({.kernel = {3, 3},
                         .strides = {stride, stride},
                         .padding = "symmetric",
                         .use_bias = false,
                         .depthwise_initializer = HeNormal(),
                         .name = name + "_depthwise_conv"})(y);
    y = finish(y, wide, name + "_depthwise", true);
    y = conv(y, filters, 1, 1, name + "_project", false);
    return stride == 1 && channels == filters ? Add({.name = name + "_add"})({x, y}) : y;
  }

 private:
  SymbolicTensor finish(const SymbolicTensor& x, int64_t channels, const std::string& name,
                        bool active) const {
    const SymbolicTensor y = zoo::normalise(x, norm_, {.name = name + "_bn", .channels = channels});
    return active ? ReLU({.max_value = 6, .name = name + "_relu"})(y) : y;
  }

  NormOptions norm_;
};

struct MobilenetStack {
  int64_t widen, filters, blocks, stride;
};

}  // namespace

Network mobilenet_v2(const Shape& input_shape, int64_t classes, const NormOptions& norm) {
  const std::array<MobilenetStack, 7> stacks = {{{1, 16, 1, 1},
                                                 {6, 24, 2, 2},
                                                 {6, 32, 3, 2},
                                                 {6, 64, 4, 2},
                                                 {6, 96, 3, 1},
                                                 {6, 160, 3, 2},
                                                 {6, 320, 1, 1}}};
  const MobilenetBuilder builder(zoo::with_epsilon(norm, zoo::kTorchEpsilon));
  const SymbolicTensor input = Input(input_shape);
  int64_t channels = 32;
  SymbolicTensor x = builder.conv(input, channels, 3, 2, "conv1");
  int number = 1;
  for (const MobilenetStack& stack : stacks) {
    for (int64_t i = 0; i < stack.blocks; ++i) {
      x = builder.block(x, channels, stack.widen, stack.filters, i == 0 ? stack.stride : 1,
                        concat("block", number++));
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
