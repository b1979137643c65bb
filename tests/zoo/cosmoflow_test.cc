// The networks for volumes.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "pando/zoo/zoo.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

constexpr int64_t kTargets = 4;
const Shape kVolume = {64, 64, 64, 4};

// The classes of the layers, in their order.
std::string classes(const Network& network) {
  std::string text;
  for (const LayerInfo& layer : network.layers()) text += layer.class_name + " ";
  return text;
}

TEST(Cosmoflow, FiltersDoubleAndExtentsHalve) {
  const Network network = cosmoflow(kVolume, kTargets);
  EXPECT_EQ(network.layer("max_pooling3d").output_shape, Shape({32, 32, 32, 16}));
  EXPECT_EQ(network.layer("max_pooling3d_4").output_shape, Shape({2, 2, 2, 256}));
  EXPECT_EQ(network.outputs()[0].shape, Shape({kTargets}));
}

TEST(Cosmoflow, OptionsReachTheLayers) {
  const Network network = cosmoflow({8, 8, 8, 1}, 2,
                                    {.conv_size = 3,
                                     .conv_layers = 2,
                                     .fc1_size = 7,
                                     .fc2_size = 5,
                                     .hidden_activation = "relu",
                                     .average_pooling = true});
  EXPECT_EQ(classes(network),
            "InputLayer Conv3D Activation AveragePooling3D Conv3D Activation AveragePooling3D "
            "Flatten Dense Activation Dropout Dense Activation Dropout Dense Rescaling ");
  EXPECT_EQ(network.layer("conv3d_1").output_shape, Shape({4, 4, 4, 6}));
  EXPECT_EQ(network.layer("dense").output_shape, Shape({7}));
  EXPECT_EQ(network.layer("dense_1").output_shape, Shape({5}));
  EXPECT_EQ(network.outputs()[0].shape, Shape({2}));
}

TEST(Cosmoflow, FirstVersionHasNoPaddingAndDropsWhatItFlattens) {
  const Network network = cosmoflow_v1(kVolume, kTargets);
  EXPECT_EQ(network.layer("conv3d").output_shape, Shape({63, 63, 63, 16}));
  EXPECT_EQ(network.layer("max_pooling3d_4").output_shape, Shape({1, 1, 1, 16}));
  EXPECT_NE(classes(network).find("MaxPooling3D Flatten Dropout Dense LeakyReLU Dropout"),
            std::string::npos)
      << classes(network);
}

TEST(Cosmoflow, ResidualNetworkHalvesInTheStemAndInThreeStacks) {
  const Network network = cosmoflow_resnet(kVolume, kTargets);
  EXPECT_EQ(network.layer("conv1_conv").output_shape, Shape({32, 32, 32, 64}));
  EXPECT_EQ(network.layer("pool1_pool").output_shape, Shape({16, 16, 16, 64}));
  EXPECT_EQ(network.layer("conv2_block2_out").output_shape, Shape({16, 16, 16, 128}));
  EXPECT_EQ(network.layer("conv3_block1_1_conv").output_shape, Shape({16, 16, 16, 64}));
  EXPECT_EQ(network.layer("conv3_block1_2_conv").output_shape, Shape({8, 8, 8, 64}));
  EXPECT_EQ(network.layer("conv5_block2_out").output_shape, Shape({2, 2, 2, 1024}));
  EXPECT_EQ(network.outputs()[0].shape, Shape({kTargets}));
}

TEST(Cosmoflow, VolumesThatAreTooSmall) {
  EXPECT_SAYS(error_of([] {
                cosmoflow({32, 16, 32, 4}, kTargets);
              }),
              "cosmoflow: 5 ", "[32,16,32,4]", "fewer layers", "larger volumes");
  EXPECT_NO_THROW(cosmoflow({32, 32, 32, 4}, kTargets));
  EXPECT_SAYS(error_of([] { cosmoflow_v1({62, 62, 62, 4}, kTargets); }), "larger volumes");
  EXPECT_NO_THROW(cosmoflow_v1({63, 63, 63, 4}, kTargets));
}

TEST(Cosmoflow, ImagesAreNoVolumes) {
  EXPECT_SAYS(error_of([] {
                cosmoflow({64, 64, 3}, kTargets);
              }),
              "cosmoflow: ", "[depth,height,width,channels]", "got shape [64,64,3]");
  EXPECT_SAYS(error_of([] { cosmoflow_v1({64, 64, 3}, kTargets); }), "cosmoflow_v1: ", "samples");
  EXPECT_SAYS(error_of([] {
                cosmoflow_resnet({64, 64, 3}, kTargets);
              }),
              "cosmoflow_resnet: ", "got shape [64,64,3]");
}

}  // namespace
}  // namespace pando
