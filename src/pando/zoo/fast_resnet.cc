// A residual network of seven layers for small pictures, which reaches an accuracy in little time
// on processors. Nearly all work is in 3x3 convolutions of stride 1, which Winograd's method
// computes; max pooling makes pictures smaller before the filters double, and the only convolution
// at the full size has its relu and pooling in one pass and is normalised after them.
// SPDX-License-Identifier: MIT
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

Network fast_resnet7(const Shape& input_shape, int64_t classes, const FastResnetOptions& options) {
  const auto conv = [](int64_t filters, bool first, const std::string& name) {
    return Conv2D({.filters = filters,
                   .kernel = {3, 3},
                   .padding = "same",
                   .activation = first ? "relu" : "",
                   .use_bias = first,
                   .kernel_initializer = HeNormal(),
                   .name = name + "_conv"});
  };
  const auto norm = [&](const SymbolicTensor& x, int64_t filters, const std::string& name) {
    return zoo::normalise(x, options.norm, {.name = name + "_bn", .channels = filters});
  };
  const auto layer = [&](const SymbolicTensor& x, int64_t filters, const std::string& name) {
    return ReLU({.name = name + "_relu"})(norm(conv(filters, false, name)(x), filters, name));
  };
  const auto pool = [](const SymbolicTensor& x, const std::string& name) {
    return MaxPooling2D({.name = name + "_pool"})(x);
  };
  const int64_t filters = options.filters;
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = pool(conv(filters, true, "conv1")(input), "conv1");
  x = layer(norm(x, filters, "conv1"), filters, "conv2");
  x = layer(pool(x, "conv3"), 2 * filters, "conv3");
  x = Add({.name = "conv3_add"})({x, layer(x, 2 * filters, "conv3_residual")});
  x = layer(pool(x, "conv4"), 4 * filters, "conv4");
  x = Add({.name = "conv4_add"})({x, layer(x, 4 * filters, "conv4_residual")});
  x = GlobalAveragePooling2D({.name = "avg_pool"})(x);
  return Network(input, Dense({.units = classes,
                               .activation = "softmax",
                               .kernel_initializer = VarianceScaling(),
                               .name = "fc_layer"})(x));
}

}  // namespace pando
