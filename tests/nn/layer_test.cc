#include "pando/nn/layer.h"

#include <gtest/gtest.h>

#include "pando/nn/layers.h"
#include "pando/nn/network.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

TEST(Layer, RefusesNamesThatFilesCannotHold) {
  const std::string message = error_of([] { Dense({.units = 1, .name = "a b"}); });
  EXPECT_SAYS(message, "'a b'");
  EXPECT_SAYS(message, "' '");
  EXPECT_NO_THROW(Dense({.units = 1, .name = "block/a-1.b_2"}));
}

TEST(Layer, RefusesWrongNumbersOfInputs) {
  const SymbolicTensor x = Input({4});
  EXPECT_SAYS(error_of([&] { Add({.name = "sum"})(x); }), "Add 'sum'", "inputs", "got 1");
  EXPECT_SAYS(error_of([&] { Add()(x); }), "2 or more");
  EXPECT_SAYS(error_of([&] { Flatten()({x, x}); }), "Flatten: expected 1", "got 2");
}

TEST(Input, RefusesEmptyExtents) {
  EXPECT_SAYS(error_of([] { Input({28, 0, 1}); }), "[28,0,1]");
}

TEST(Input, LayersThatTakeF32SayNoToOtherTypes) {
  const SymbolicTensor x = Input({6, 6, 1}, {.dtype = DType::u8});
  const std::string message = error_of([&] { Network(x, Conv2D({.filters = 2})(x)); });
  EXPECT_SAYS(message, "'conv2d'");
  EXPECT_SAYS(message, "u8");
}

// A layer, a sample that it cannot take, and a part of the message besides the layer's name.
struct Misfit {
  std::string name;
  Shape sample;
  Layer layer;
  std::string says;
};

class LayerMisfit : public testing::TestWithParam<Misfit> {};

TEST_P(LayerMisfit, MessageNamesTheLayer) {
  const Misfit& misfit = GetParam();
  const std::string message = error_of([&] { Sequential(misfit.sample, {misfit.layer}); });
  EXPECT_SAYS(message, "'" + misfit.name + "'");
  EXPECT_SAYS(message, misfit.says);
}

INSTANTIATE_TEST_SUITE_P(
    All, LayerMisfit,
    testing::Values(
        Misfit{"conv2d", {8, 8}, Conv2D({.filters = 2}), "2 spatial axes"},
        Misfit{"conv3d", {8, 8, 1}, Conv3D({.filters = 2}), "3 spatial axes"},
        Misfit{"conv2d", {4, 4, 1}, Conv2D({.filters = 2, .kernel = {7, 7}}), "7x7"},
        Misfit{"conv2d", {4, 4, 3}, Conv2D({.filters = 4, .groups = 2}), "3"},
        Misfit{"conv2d", {4, 4, 4}, Conv2D({.filters = 3, .groups = 2}), "3"},
        Misfit{"c", {4, 4, 4}, Conv2D({.filters = 3, .strides = {0, 1}, .name = "c"}), "strides"},
        Misfit{
            "conv2d", {4, 4, 4}, Conv2D({.filters = 3, .padding = "sme"}), "did you mean 'same'"},
        Misfit{"dense", {4, 4}, Dense({.units = 2}), "Flatten"},
        Misfit{"batch_normalization", {}, BatchNormalization(), "single number"},
        Misfit{"group_normalization", {}, GroupNormalization(), "single number"},
        Misfit{"group_normalization", {4, 4, 20}, GroupNormalization(), "20 channels"},
        Misfit{"instance_normalization", {}, InstanceNormalization(), "single number"},
        Misfit{"spatial_dropout2d", {4, 4}, SpatialDropout2D({}), "2 spatial axes"},
        Misfit{"softmax", {4, 4}, Softmax({.axis = 0}), "axis: expected"},
        Misfit{"slice", {4, 4}, Slice({.starts = {2}, .ends = {2}}), "got none"},
        Misfit{"slice", {4, 4}, Slice({.starts = {2}, .ends = {3}, .axes = {3}}), "got 3"},
        Misfit{"reduce", {4, 4}, Reduce({.axes = {-3}}), "got -3"},
        Misfit{"p_re_lu", {4, 4}, PReLU({.shared_axes = {3}}), "got 3"},
        Misfit{"permute", {4, 4}, Permute({.dims = {1, 1}}), "got [0,1,1]"},
        Misfit{"layer_normalization", {4, 4}, LayerNormalization({.axis = {1}}), "got [1]"},
        Misfit{"layer_normalization", {4, 4}, LayerNormalization({.axis = {0}}), "got [0]"},
        Misfit{"layer_normalization", {4, 4}, LayerNormalization({.axis = {2, -1}}), "axis"},
        Misfit{"max_pooling2d", {4, 4, 4, 1}, MaxPooling2D(), "expected 3"},
        Misfit{"max_pooling2d", {1, 4, 1}, MaxPooling2D(), "exceeds"},
        Misfit{"average_pooling3d", {4, 4, 1}, AveragePooling3D(), "expected 2"},
        Misfit{"global_average_pooling2d", {4, 4, 4, 1}, GlobalAveragePooling2D(), "2 spatial"},
        Misfit{"global_average_pooling3d", {4, 4, 1}, GlobalAveragePooling3D(), "3 spatial"},
        Misfit{"reshape", {4, 4}, Reshape({.shape = {5}}), "expected 16"},
        Misfit{"zero_padding2d", {4, 4}, ZeroPadding2D(), "2 spatial"},
        Misfit{"cropping3d", {4, 4, 1}, Cropping3D(), "3 spatial"},
        Misfit{"global_max_pooling2d", {4, 4}, GlobalMaxPooling2D(), "2 spatial"},
        Misfit{"depth_to_space", {4, 4, 6}, DepthToSpace(), "6 channels"},
        Misfit{"space_to_depth", {4, 5, 6}, SpaceToDepth(), "4x5 pixels"},
        Misfit{"up_sampling2d", {4, 4}, UpSampling2D(), "2 spatial"},
        Misfit{"resizing", {4, 4, 4, 1}, Resizing({.height = 2, .width = 2}), "2 spatial"},
        Misfit{"subsample", {4, 4, 8}, Subsample({.channels = 4}), "at least the 8"}),
    [](const auto& each) {
      std::string name = each.param.name + "_" + std::to_string(each.index);
      return name;
    });

TEST(Add, InputsOfDifferentShapes) {
  const SymbolicTensor a = Input({4}), b = Input({5});
  const std::string message = error_of([&] { Network({a, b}, Add()({a, b})); });
  EXPECT_SAYS(message, "'add'");
  EXPECT_SAYS(message, "[1,4] and [1,5]");
}

TEST(Concatenate, NeitherTheBatchNorAnAxisThatIsNotThere) {
  const SymbolicTensor a = Input({4, 2}), b = Input({4, 3});
  for (const int axis : {0, 3, -4}) {
    EXPECT_SAYS(error_of([&] {
                  Network({a, b}, Concatenate({.axis = axis})({a, b}));
                }),
                "'concatenate'");
  }
  EXPECT_SAYS(error_of([&] {
                Network({a, b}, Concatenate({.axis = 1})({a, b}));
              }),
              "'concatenate'");
}

}  // namespace
}  // namespace pando
