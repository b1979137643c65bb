// VGG with 16 layers (Simonyan, Zisserman 2014), without normalisation.
// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

Network vgg16(const Shape& input_shape, int64_t classes) {
  const std::array<std::pair<int, int64_t>, 5> blocks = {
      {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};  // convolutions and their filters
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = input;
  for (size_t block = 1; block <= blocks.size(); ++block) {
    const auto& [count, filters] = blocks[block - 1];
    for (int i = 1; i <= count; ++i) {
      x = Conv2D({.filters = filters,
                  .kernel = {3, 3},
                  .padding = "same",
                  .activation = "relu",
                  .kernel_initializer = HeNormal(),
                  .name = concat("block", block, "_conv", i)})(x);
    }
    x = MaxPooling2D({.name = concat("block", block, "_pool")})(x);
  }
  x = Flatten({.name = "flatten"})(x);
  for (const char* name : {"fc1", "fc2"}) {
    x = Dense({.units = 4096, .activation = "relu", .name = name})(x);
    x = Dropout({.rate = 0.5, .name = concat(name, "_dropout")})(x);
  }
  return Network(input,
                 Dense({.units = classes, .activation = "softmax", .name = "predictions"})(x));
}

}  // namespace pando
