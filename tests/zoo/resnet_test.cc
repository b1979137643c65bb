// The residual networks for ImageNet.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "tests/support/expect_error.h"
#include "tests/zoo/by_name.h"

namespace pando {
namespace {

// Names of layers from `first` to `last`.
std::string names(const Network& network, const std::string& first, const std::string& last) {
  const std::vector<LayerInfo>& layers = network.layers();
  std::vector<std::string> found;
  auto at = std::ranges::find(layers, first, &LayerInfo::name);
  for (; at != layers.end(); ++at) {
    found.push_back(at->name);
    if (at->name == last) break;
  }
  return join(found, " ");
}

TEST(Resnet, NamesOfTheStartAndTheEnd) {
  for (const char* model : {"resnet18", "resnet34", "resnet50"}) {
    const Network network = by_name(model);
    EXPECT_EQ(names(network, "input_1", "pool1_pool"),
              "input_1 conv1_pad conv1_conv conv1_bn conv1_relu pool1_pad pool1_pool");
    const std::string last = model == std::string("resnet18") ? "conv5_block2" : "conv5_block3";
    EXPECT_EQ(names(network, last + "_add", ""),
              last + "_add " + last + "_out avg_pool predictions");
    EXPECT_EQ(network.layers().back().name, "predictions");
    EXPECT_EQ(network.outputs()[0].shape, Shape({1000}));
  }
}

TEST(Resnet, NamesOfBlocks) {
  const Network basic = by_name("resnet18");
  EXPECT_EQ(names(basic, "conv2_block1_0_conv", "conv2_block1_out"),
            "conv2_block1_0_conv conv2_block1_0_bn conv2_block1_1_conv conv2_block1_1_bn "
            "conv2_block1_1_relu conv2_block1_2_conv conv2_block1_2_bn conv2_block1_add "
            "conv2_block1_out");
  const Network bottleneck = by_name("resnet50");
  EXPECT_EQ(names(bottleneck, "conv3_block2_1_conv", "conv3_block2_out"),
            "conv3_block2_1_conv conv3_block2_1_bn conv3_block2_1_relu conv3_block2_2_conv "
            "conv3_block2_2_bn conv3_block2_2_relu conv3_block2_3_conv conv3_block2_3_bn "
            "conv3_block2_add conv3_block2_out");
  EXPECT_EQ(bottleneck.layer("conv3_block2_1_conv").inbound.front(), "conv3_block1_out");
}

TEST(Resnet, EveryStackProjectsOnce) {
  for (const auto& [model, blocks] :
       {std::pair{"resnet18", 8}, std::pair{"resnet34", 16}, std::pair{"resnet50", 16}}) {
    const Network network = by_name(model);
    int projections = 0;
    int adds = 0;
    for (const LayerInfo& layer : network.layers()) {
      projections += layer.name.ends_with("_0_conv") ? 1 : 0;
      adds += layer.name.ends_with("_add") ? 1 : 0;
    }
    EXPECT_EQ(projections, 4) << model;
    EXPECT_EQ(adds, blocks) << model;
  }
}

TEST(Resnet, ShapesAndStrides) {
  const Network network = by_name("resnet50");
  const auto shape = [&](const char* name) { return network.layer(name).output_shape; };
  EXPECT_EQ(shape("conv1_conv"), Shape({112, 112, 64}));
  EXPECT_EQ(shape("pool1_pool"), Shape({56, 56, 64}));
  EXPECT_EQ(shape("conv2_block3_out"), Shape({56, 56, 256}));
  // The stride is on the 3x3 convolution, not on the 1x1 before it.
  EXPECT_EQ(shape("conv3_block1_1_conv"), Shape({56, 56, 128}));
  EXPECT_EQ(shape("conv3_block1_2_conv"), Shape({28, 28, 128}));
  EXPECT_EQ(shape("conv5_block3_out"), Shape({7, 7, 2048}));
  EXPECT_EQ(by_name("resnet34").layer("conv5_block3_out").output_shape, Shape({7, 7, 512}));
}

TEST(Resnet, BottlenecksWithoutProjectionBeginAsTheIdentity) {
  const auto gamma = [](const Network& network, const char* name) {
    return network.layer(name).weights[0].initializer.make({2}, 1).f32()[0];
  };
  const Network network = by_name("resnet50");
  EXPECT_EQ(gamma(network, "conv2_block1_3_bn"), 1);
  EXPECT_EQ(gamma(network, "conv2_block2_3_bn"), 0);
  EXPECT_EQ(gamma(network, "conv2_block2_2_bn"), 1);
  EXPECT_EQ(gamma(by_name("resnet18"), "conv2_block2_2_bn"), 1);
}

TEST(Resnet, SplitsByTheNamesOfLayers) {
  const Network network = by_name("resnet50");
  EXPECT_EQ(
      network.with_splits({"conv2_block2_out", "conv3_block1_out", "conv4_block2_out"}).stages(),
      4);
  const std::string unordered = testing_support::error_of([&] {
    network.with_splits({"conv3_block1_out", "conv2_block2_out"});
  });
  EXPECT_SAYS(unordered, "'conv2_block2_out' comes before 'conv3_block1_out'");
  EXPECT_SAYS(unordered, "layers: conv1_pad, conv1_conv, ");
}

}  // namespace
}  // namespace pando
