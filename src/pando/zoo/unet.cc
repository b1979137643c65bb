// U-Net (Ronneberger and others 2015) for pictures and volumes, with padding and normalisation: a
// class for every pixel. The way down halves the picture at each level, the way up doubles it and
// takes the results of the same level along.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/nn/layers.h"
#include "pando/zoo/zoo.h"

namespace pando {

namespace {

// The layers of one dimension.
struct Flat {
  static constexpr int kRank = 3;
  static Layer conv(int64_t filters, int64_t kernel, const std::string& name) {
    return Conv2D({.filters = filters,
                   .kernel = {kernel, kernel},
                   .padding = "same",
                   .use_bias = kernel == 1,
                   .kernel_initializer = HeNormal(),
                   .name = name});
  }
  static Layer pool(const std::string& name) { return MaxPooling2D({.name = name}); }
  static Layer up(int64_t filters, const std::string& name) {
    return Conv2DTranspose({.filters = filters, .kernel = {2, 2}, .strides = {2, 2}, .name = name});
  }
};

struct Deep {
  static constexpr int kRank = 4;
  static Layer conv(int64_t filters, int64_t kernel, const std::string& name) {
    return Conv3D({.filters = filters,
                   .kernel = {kernel, kernel, kernel},
                   .padding = "same",
                   .use_bias = kernel == 1,
                   .kernel_initializer = HeNormal(),
                   .name = name});
  }
  static Layer pool(const std::string& name) { return MaxPooling3D({.name = name}); }
  static Layer up(int64_t filters, const std::string& name) {
    return Conv3DTranspose(
        {.filters = filters, .kernel = {2, 2, 2}, .strides = {2, 2, 2}, .name = name});
  }
};

void check_shape(const Shape& shape, int rank, int64_t levels) {
  const int64_t step = int64_t{1} << levels;
  bool fits = shape.rank() == rank;
  for (int i = 0; fits && i + 1 < rank; ++i) fits = shape[i] % step == 0;
  if (fits) return;
  throw InvalidArgument("unet: expected samples with ", rank - 1, " axes that are multiples of ",
                        step, ", and channels, got shape ", shape);
}

template <typename Kind>
Network make_unet(const Shape& input_shape, int64_t classes, const UnetOptions& options) {
  check_shape(input_shape, Kind::kRank, options.levels);
  const auto twice = [&](SymbolicTensor x, int64_t filters, const std::string& name) {
    for (int i = 1; i <= 2; ++i) {
      const std::string each = concat(name, "_", i);
      x = Kind::conv(filters, 3, each + "_conv")(x);
      x = zoo::normalise(x, options.norm, {.name = each + "_bn", .channels = filters});
      x = ReLU({.name = each + "_relu"})(x);
    }
    return x;
  };
  const SymbolicTensor input = Input(input_shape);
  SymbolicTensor x = input;
  std::vector<SymbolicTensor> aside;
  for (int64_t level = 0; level < options.levels; ++level) {
    aside.push_back(twice(x, options.filters << level, concat("down", level + 1)));
    x = Kind::pool(concat("down", level + 1, "_pool"))(aside.back());
  }
  x = twice(x, options.filters << options.levels, "bottom");
  for (int64_t level = options.levels; level-- > 0;) {
    const std::string name = concat("up", level + 1);
    const int64_t filters = options.filters << level;
    x = Kind::up(filters, name + "_conv_transpose")(x);
    x = Concatenate({.name = name + "_concat"})({aside[static_cast<size_t>(level)], x});
    x = twice(x, filters, name);
  }
  x = Kind::conv(classes, 1, "classes")(x);
  return Network(input, Activation("softmax", {.name = "predictions"})(x));
}

}  // namespace

Network unet(const Shape& input_shape, int64_t classes, const UnetOptions& options) {
  return make_unet<Flat>(input_shape, classes, options);
}

Network unet3d(const Shape& input_shape, int64_t classes, const UnetOptions& options) {
  return make_unet<Deep>(input_shape, classes, options);
}

}  // namespace pando
