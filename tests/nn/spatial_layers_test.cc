// What the layers that change spatial extents describe, and what they refuse.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/ir/text.h"
#include "pando/nn/layers.h"
#include "pando/nn/network.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

TEST(SpatialLayers, ResizingIsThatOfKeras) {
  const auto text = [](const Layer& layer) {
    const SymbolicTensor x = Input({4, 5, 3});
    return ir::to_text(Network(x, layer(x)).build({.batch = 2}).graph, {.types = false});
  };
  const std::string nearest =
      "coordinates=\"half_pixel\", mode=\"nearest\", nearest=\"round_prefer_ceil\"";
  EXPECT_SAYS(text(UpSampling2D({.size = {2, 3}})), nearest, "scales=[2.0,3.0], size=[8,15]");
  EXPECT_SAYS(text(Resizing({.height = 7, .width = 2, .interpolation = "nearest"})), nearest,
              "scales=[], size=[7,2]");
  EXPECT_SAYS(text(Resizing({.height = 7, .width = 2})),
              "coordinates=\"half_pixel\", mode=\"linear\"");
  EXPECT_SAYS(
      text(Resize({.scales = {0.5, 1.5}, .coordinates = "asymmetric", .nearest_mode = "floor"})),
      "coordinates=\"asymmetric\", mode=\"nearest\", nearest=\"floor\"", "size=[2,7]");
}

TEST(SpatialLayers, ResizingAndBordersRefuseWhatHasNoResult) {
  EXPECT_SAYS(error_of([] { Cropping2D({.top_bottom = {-1, 0}}); }), "Cropping2D", "got -1");
  EXPECT_SAYS(error_of([] {
                Sequential({4, 5, 3}, {Cropping2D({.top_bottom = {2, 2}})});
              }),
              "Cropping2D 'cropping2d'", "2 and 2", "axis 1", "at least one");
  EXPECT_SAYS(error_of([] {
                Sequential({4, 5, 3}, {ZeroPadding3D()});
              }),
              "ZeroPadding3D", "3 spatial axes", "[1,4,5,3]");
  EXPECT_SAYS(error_of([] {
                Sequential({4, 5, 3}, {GlobalMaxPooling3D()});
              }),
              "GlobalMaxPooling3D 'global_max_pooling3d'", "3 spatial axes");
  EXPECT_SAYS(error_of([] { DepthToSpace({.block_size = 0}); }), "DepthToSpace: block_size");
  EXPECT_SAYS(error_of([] { UpSampling2D({.size = {0, 2}}); }), "UpSampling2D: size", "got 0");
  EXPECT_SAYS(error_of([] { UpSampling2D({.interpolation = "cubic"}); }), "interpolation",
              "got \"cubic\"");
  EXPECT_SAYS(error_of([] { Resizing({.height = 4}); }), "Resizing: size", "got 0");
  EXPECT_SAYS(error_of([] { Resize({}); }), "Resize: expected size or scales", "neither");
  EXPECT_SAYS(error_of([] { Resize({.size = {2}, .scales = {2}}); }), "got both");
  EXPECT_SAYS(error_of([] { Resize({.scales = {-1}}); }), "scales", "got -1");
  EXPECT_SAYS(error_of([] {
                Sequential({4, 5, 3}, {Resize({.size = {9}})});
              }),
              "Resize 'resize'", "1 spatial axes", "[1,4,5,3]");
  EXPECT_SAYS(error_of([] {
                Sequential({4, 5, 3}, {Resize({.size = {9, 9}, .mode = "cubic"})});
              }),
              "mode", "cubic");
}

// Keras has the filters before the channels of the input.
TEST(SpatialLayers, KernelsOfTransposedConvolutionsAreThoseOfKeras) {
  const Network network =
      Sequential({4, 5, 6}, {Conv2DTranspose({.filters = 3, .kernel = {2, 7}})});
  const LayerInfo& layer = network.layer("conv2d_transpose");
  EXPECT_EQ(layer.weights[0].name, "kernel");
  EXPECT_EQ(layer.weights[0].file_shape(), (Shape{2, 7, 3, 6}));
  EXPECT_EQ(layer.weights[1].name, "bias");
}

TEST(SpatialLayers, TransposedConvolutionsRefuseWhatHasNoResult) {
  EXPECT_SAYS(error_of([] { Conv2DTranspose({.kernel = {2, 2}}); }), "Conv2DTranspose: filters");
  EXPECT_SAYS(error_of([] { Conv2DTranspose({.filters = 1, .kernel = {0, 2}}); }), "kernel");
  EXPECT_SAYS(error_of([] {
                Conv3DTranspose({.filters = 1, .strides = {1, 0, 1}});
              }),
              "Conv3DTranspose: strides", "got 0");
  EXPECT_SAYS(error_of([] { Conv2DTranspose({.filters = 1, .padding = "full"}); }), "padding",
              "got \"full\"");
  EXPECT_SAYS(error_of([] {
                Conv2DTranspose({.filters = 1, .output_padding = {0, 1}});
              }),
              "output_padding", "stride 1", "got 1");
  EXPECT_SAYS(error_of([] {
                Sequential({4, 3}, {Conv2DTranspose({.filters = 1, .name = "up"})});
              }),
              "Conv2DTranspose 'up'", "2 spatial axes", "[4,3]");
}

}  // namespace
}  // namespace pando
