// DenseNet with 121 layers (Huang and others 2016): every layer gets the results of all earlier
// layers of its block.
// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

constexpr int64_t kGrowth = 32;  // channels that each layer adds

struct DenseTensor {
  SymbolicTensor x;
  int64_t channels;
};

class DensenetBuilder {
 public:
  explicit DensenetBuilder(const NormOptions& norm) : norm_(norm) {}

  SymbolicTensor norm_relu(const DenseTensor& from, const std::string& name) const {
    const SymbolicTensor y =
        zoo::normalise(from.x, norm_, {.name = name + "_bn", .channels = from.channels});
    return ReLU({.name = name + "_relu"})(y);
  }

  static SymbolicTensor conv(const SymbolicTensor& x, int64_t filters, int64_t kernel,
                             const std::string& name, int64_t stride = 1) {
    return Conv2D({.filters = filters,
                   .kernel = {kernel, kernel},
                   .strides = {stride, stride},
                   .padding = "symmetric",
                   .use_bias = false,
                   .kernel_initializer = HeNormal(),
                   .name = name + "_conv"})(x);
  }

  DenseTensor layer(const DenseTensor& from, const std::string& name) const {
    SymbolicTensor y = conv(norm_relu(from, name + "_0"), 4 * kGrowth, 1, name + "_1");
    y = conv(norm_relu({y, 4 * kGrowth}, name + "_1"), kGrowth, 3, name + "_2");
    return {Concatenate({.name = name + "_concat"})({from.x, y}), from.channels + kGrowth};
  }

  // Halves the channels and the picture.
  DenseTensor transition(const DenseTensor& from, const std::string& name) const {
    const int64_t channels = from.channels / 2;
    const SymbolicTensor y = conv(norm_relu(from, name), channels, 1, name);
    return {AveragePooling2D({.name = name + "_pool"})(y), channels};
  }

 private:
  NormOptions norm_;
};

}  // namespace

Network densenet121(const Shape& input_shape, int64_t classes, const NormOptions& norm) {
  const std::array<int, 4> layers = {6, 12, 24, 16};
  const DensenetBuilder builder(zoo::with_epsilon(norm, zoo::kTorchEpsilon));
  const SymbolicTensor input = Input(input_shape);
  DenseTensor at{DensenetBuilder::conv(input, 64, 7, "conv1", 2), 64};
  at.x = ZeroPadding2D({.name = "pool1_pad"})(builder.norm_relu(at, "conv1"));
  at.x = MaxPooling2D({.pool = {3, 3}, .strides = {2, 2}, .name = "pool1"})(at.x);
  for (size_t block = 0; block < layers.size(); ++block) {
    const std::string stack = concat("conv", block + 2);
    for (int i = 1; i <= layers[block]; ++i) at = builder.layer(at, concat(stack, "_block", i));
    if (block + 1 < layers.size()) at = builder.transition(at, concat("pool", block + 2));
  }
  const SymbolicTensor x =
      GlobalAveragePooling2D({.name = "avg_pool"})(builder.norm_relu(at, "last"));
  return Network(input,
                 Dense({.units = classes, .activation = "softmax", .name = "predictions"})(x));
}

}  // namespace pando
