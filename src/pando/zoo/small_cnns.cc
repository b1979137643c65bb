// Small convolutional networks: the network of the Keras tutorial for MNIST, the Keras example for
// CIFAR-10, and two toy networks for tests.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

Network mnist_cnn(const Shape& input_shape, int64_t classes) {
  return Sequential(
      input_shape,
      {Conv2D({.filters = 32, .kernel = {3, 3}, .activation = "relu"}), MaxPooling2D(),
       Conv2D({.filters = 64, .kernel = {3, 3}, .activation = "relu"}), MaxPooling2D(), Flatten(),
       Dropout({.rate = 0.5}), Dense({.units = classes, .activation = "softmax"})});
}

Network cifar10_cnn(const Shape& input_shape, int64_t classes) {
  const auto conv = [](int64_t filters, const char* padding) {
    return Conv2D({.filters = filters, .kernel = {3, 3}, .padding = padding, .activation = "relu"});
  };
  return Sequential(input_shape,
                    {conv(32, "same"), conv(32, "valid"), MaxPooling2D(), Dropout({.rate = 0.25}),
                     conv(64, "same"), conv(64, "valid"), MaxPooling2D(), Dropout({.rate = 0.25}),
                     Flatten(), Dense({.units = 512, .activation = "relu"}), Dropout({.rate = 0.5}),
                     Dense({.units = classes, .activation = "softmax"})});
}

namespace {

Network toy(const Shape& input_shape, int64_t classes, const NormOptions* options) {
  const SymbolicTensor input = Input(input_shape);
  const auto norm = [&](const char* name, int64_t channels, const SymbolicTensor& x) {
    return options == nullptr ? x
                              : zoo::normalise(x, *options, {.name = name, .channels = channels});
  };
  SymbolicTensor x =
      Conv2D({.filters = 4, .kernel = {3, 3}, .activation = "relu", .name = "conv2d_0"})(input);
  x = norm("bn_0", 4, MaxPooling2D({.pool = {5, 5}})(x));
  x = Conv2D({.filters = 8, .kernel = {1, 1}, .activation = "relu", .name = "conv2d_1"})(x);
  x = norm("bn_1", 8, MaxPooling2D({.pool = {5, 5}})(x));
  x = Flatten()(x);
  return Network(input, Dense({.units = classes, .activation = "softmax"})(x));
}

}  // namespace

Network toy_model(const Shape& input_shape, int64_t classes) {
  return toy(input_shape, classes, nullptr);
}
Network toy_model_bn(const Shape& input_shape, int64_t classes, const NormOptions& norm) {
  return toy(input_shape, classes, &norm);
}

}  // namespace pando
