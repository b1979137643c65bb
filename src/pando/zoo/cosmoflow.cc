// CosmoFlow: cosmological parameters from a volume of matter density (Mathuriya and others, SC18).
// SPDX-License-Identifier: MIT
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

Network cosmoflow(const Shape& input_shape, int64_t targets, const CosmoflowOptions& options) {
  const int64_t k = options.kernel_size;
  const auto activate = [&](const SymbolicTensor& x) {
    return LeakyReLU({.alpha = options.alpha})(x);
  };
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = input;
  for (int64_t i = 0; i < options.conv_layers; ++i) {
    x = Conv3D({.filters = options.conv_size << i, .kernel = {k, k, k}, .padding = "same"})(x);
    x = MaxPooling3D()(activate(x));
  }
  x = Flatten()(x);
  for (const int64_t units : {options.fc1_size, options.fc2_size}) {
    x = Dropout({.rate = options.dropout})(activate(Dense({.units = units})(x)));
  }
  x = Dense({.units = targets, .activation = "tanh"})(x);
  return Network(input, Rescaling({.factor = 1.2})(x));
}

}  // namespace pando
