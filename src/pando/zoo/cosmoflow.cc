// CosmoFlow predicts cosmological parameters from a volume of matter density (Mathuriya and others,
// SC18). This file has the network of its benchmark and that of the benchmark's first version.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

// Every layer halves the extents by pooling; the last one must leave at least one element.
void check_shape(const char* model, const Shape& shape, const CosmoflowOptions& options,
                 int64_t lost_per_layer) {
  if (shape.rank() != 4) {
    throw InvalidArgument(model, ": expected samples [depth,height,width,channels], got shape ",
                          shape);
  }
  for (int axis = 0; axis < 3; ++axis) {
    int64_t extent = shape[axis];
    for (int64_t i = 0; i < options.conv_layers; ++i) extent = (extent - lost_per_layer) / 2;
    if (extent > 0) continue;
    throw InvalidArgument(model, ": ", options.conv_layers,
                          " convolutions with pooling reduce samples ", shape,
                          " to nothing; use fewer layers or larger volumes");
  }
}

class CosmoflowBuilder {
 public:
  explicit CosmoflowBuilder(const CosmoflowOptions& options) : options_(options) {}

  SymbolicTensor convolve(const SymbolicTensor& x, int64_t filters, const char* padding) const {
    const int64_t k = options_.kernel_size;
    const SymbolicTensor y =
        activate(Conv3D({.filters = filters, .kernel = {k, k, k}, .padding = padding})(x));
    return options_.average_pooling ? AveragePooling3D()(y) : MaxPooling3D()(y);
  }

  // The targets lie in [-1, 1]; tanh alone would reach -1 and 1 only at infinity.
  SymbolicTensor finish(SymbolicTensor x, int64_t targets) const {
    for (const int64_t units : {options_.fc1_size, options_.fc2_size}) {
      x = Dropout({.rate = options_.dropout})(activate(Dense({.units = units})(x)));
    }
    return Rescaling({.factor = 1.2})(Dense({.units = targets, .activation = "tanh"})(x));
  }

 private:
  SymbolicTensor activate(const SymbolicTensor& x) const {
    if (options_.hidden_activation != "leaky_relu")
      return Activation(options_.hidden_activation)(x);
    return LeakyReLU({.alpha = options_.alpha})(x);
  }

  CosmoflowOptions options_;
};

}  // namespace

Network cosmoflow(const Shape& input_shape, int64_t targets, const CosmoflowOptions& options) {
  check_shape("cosmoflow", input_shape, options, 0);
  const CosmoflowBuilder builder(options);
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = input;
  for (int64_t i = 0; i < options.conv_layers; ++i) {
    x = builder.convolve(x, options.conv_size << i, "same");
  }
  return Network(input, builder.finish(Flatten()(x), targets));
}

Network cosmoflow_v1(const Shape& input_shape, int64_t targets, const CosmoflowOptions& options) {
  check_shape("cosmoflow_v1", input_shape, options, options.kernel_size - 1);
  const CosmoflowBuilder builder(options);
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = input;
  for (int64_t i = 0; i < options.conv_layers; ++i) {
    x = builder.convolve(x, options.conv_size, "valid");
  }
  x = Dropout({.rate = options.dropout})(Flatten()(x));
  return Network(input, builder.finish(x, targets));
}

}  // namespace pando
