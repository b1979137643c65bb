// A residual network for volumes: like the residual networks for ImageNet, but in three dimensions,
// with half the filters and with the last layer of CosmoFlow.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

constexpr int64_t kStemFilters = 64;

struct CosmoflowConv {
  int64_t filters = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
};

class VolumeResnetBuilder {
 public:
  explicit VolumeResnetBuilder(const NormOptions& norm) : norm_(norm) {}

  SymbolicTensor start(const SymbolicTensor& volume) const {
    const SymbolicTensor x = conv_norm(volume, {kStemFilters, 7, 2}, "conv1");
    return MaxPooling3D(
        {.pool = {3, 3, 3}, .strides = {2, 2, 2}, .padding = "same", .name = "pool1_pool"})(
        ReLU({.name = "conv1_relu"})(x));
  }

  // Adds a shortcut to convolutions 1x1x1, 3x3x3 (with the stride), 1x1x1. The first block of a
  // stack projects the shortcut to its own size. An untrained block returns its shortcut: the sum
  // of many random blocks would saturate the final tanh before the network learns anything.
  SymbolicTensor block(const SymbolicTensor& x, const CosmoflowConv& inner, bool projects,
                       const std::string& name) const {
    const int64_t outputs = 4 * inner.filters;
    const SymbolicTensor shortcut =
        projects ? conv_norm(x, {outputs, 1, inner.stride}, name + "_0") : x;
    SymbolicTensor y = conv_norm(x, {inner.filters, 1}, name + "_1");
    y = conv_norm(ReLU({.name = name + "_1_relu"})(y), inner, name + "_2");
    y = conv_norm(ReLU({.name = name + "_2_relu"})(y), {outputs, 1}, name + "_3", Zeros());
    return ReLU({.name = name + "_out"})(Add({.name = name + "_add"})({shortcut, y}));
  }

 private:
  // A convolution without bias and its normalisation: <name>_conv, <name>_bn.
  SymbolicTensor conv_norm(const SymbolicTensor& x, const CosmoflowConv& conv,
                           const std::string& name, Initializer gamma = Ones()) const {
    const SymbolicTensor y = Conv3D({.filters = conv.filters,
                                     .kernel = {conv.kernel, conv.kernel, conv.kernel},
                                     .strides = {conv.stride, conv.stride, conv.stride},
                                     .padding = "same",
                                     .use_bias = false,
                                     .kernel_initializer = VarianceScaling(),
                                     .name = name + "_conv"})(x);
    return zoo::normalise(
        y, norm_, {.name = name + "_bn", .channels = conv.filters, .gamma = std::move(gamma)});
  }

  NormOptions norm_;
};

}  // namespace

Network cosmoflow_resnet(const Shape& input_shape, int64_t targets,
                         const CosmoflowResnetOptions& options) {
  if (input_shape.rank() != 4) {
    throw InvalidArgument(
        "cosmoflow_resnet: expected samples [depth,height,width,channels], got shape ",
        input_shape);
  }
  const VolumeResnetBuilder builder(options.norm);
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = builder.start(input);
  for (size_t stack = 0; stack < options.blocks.size(); ++stack) {
    for (int64_t block = 1; block <= options.blocks[stack]; ++block) {
      const bool first = block == 1;
      const int64_t stride = first && stack > 0 ? 2 : 1;
      x = builder.block(x, {options.filters << stack, 3, stride}, first,
                        concat("conv", stack + 2, "_block", block));
    }
  }
  x = Dropout({.rate = options.dropout})(GlobalAveragePooling3D({.name = "avg_pool"})(x));
  x = Dense({.units = targets, .activation = "tanh", .name = "predictions"})(x);
  return Network(input, Rescaling({.factor = 1.2})(x));
}

}  // namespace pando
