// SPDX-License-Identifier: MIT
#include "pando/zoo/torchvision_names.h"

#include <numeric>

#include "pando/nn/layers.h"
#include "tests/support/expect_error.h"
#include "tests/zoo/torchvision_support.h"

namespace pando {
namespace {

// Every weight of ours has one key there, and there are as many weights as torchvision has.
TEST(TorchvisionNames, EveryWeightHasOneKey) {
  const std::map<std::string, size_t> keys = {
      {"resnet18", 102},   {"resnet34", 182},     {"resnet50", 267},      {"resnet101", 522},
      {"vgg16", 32},       {"mobilenet_v2", 262}, {"convnext_tiny", 182}, {"efficientnet_b0", 311},
      {"densenet121", 606}};
  ASSERT_EQ(keys.size(), torchvision_networks().size());
  for (const auto& [name, count] : keys) {
    const Network network = testing_support::as_in_torchvision(name, 224);
    std::set<std::string> found;
    std::set<std::string> layers;
    for (const TorchvisionModule& each : torchvision_modules(name)) {
      EXPECT_TRUE(layers.insert(each.layer).second) << name << " " << each.layer;
      for (const nn::WeightSpec& weight : network.layer(each.layer).weights) {
        const std::string key = torchvision_key(each.module, weight.name);
        EXPECT_TRUE(found.insert(key).second) << name << " " << key;
      }
    }
    EXPECT_EQ(found.size(), count) << name;
    for (const LayerInfo& layer : network.layers()) {
      const bool is_extra = is_only_ours(layer.name);
      EXPECT_TRUE(layer.weights.empty() || is_extra || layers.contains(layer.name))
          << name << " " << layer.name;
    }
  }
  EXPECT_SAYS(testing_support::error_of([] { torchvision_modules("resnet19"); }),
              "network of torchvision", "did you mean 'resnet18'");
}

Tensor counted(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  std::iota(tensor.f32().begin(), tensor.f32().end(), 0.0f);
  return tensor;
}

TEST(TorchvisionNames, AxesAreMoved) {
  const Network network = testing_support::as_in_torchvision("mobilenet_v2", 32);
  const LayerInfo& conv = network.layer("conv1_conv");
  const Tensor kernel = from_torchvision(network, conv, conv.weights[0], counted({32, 3, 3, 3}));
  EXPECT_EQ(kernel.shape(), Shape({3, 3, 3, 32}));
  // [row 1, column 2, channel 0, filter 5] there: [5, 0, 1, 2].
  EXPECT_EQ(kernel.f32()[((1 * 3 + 2) * 3 + 0) * 32 + 5], 5 * 27 + 0 * 9 + 1 * 3 + 2);
  const LayerInfo& depthwise = network.layer("block1_depthwise_conv");
  const Tensor each =
      from_torchvision(network, depthwise, depthwise.weights[0], counted({32, 1, 3, 3}));
  EXPECT_EQ(each.f32()[(1 * 3 + 2) * 32 + 5], 5 * 9 + 1 * 3 + 2);
}

TEST(TorchvisionNames, FlattenedChannelsComeFirstThere) {
  const SymbolicTensor input = Input({2, 3, 4});
  const Network network(input, Dense({.units = 5, .name = "dense"})(Flatten()(input)));
  const LayerInfo& dense = network.layer("dense");
  const Tensor kernel = from_torchvision(network, dense, dense.weights[0], counted({5, 24}));
  EXPECT_EQ(kernel.shape(), Shape({24, 5}));
  // Row 1, column 2, channel 3 and unit 4: input 3 * 6 + 1 * 3 + 2 there.
  EXPECT_EQ(kernel.f32()[((1 * 3 + 2) * 4 + 3) * 5 + 4], 4 * 24 + 3 * 6 + 1 * 3 + 2);
}

// The reduced form of what torchvision_test.cc does with all networks.
TEST(TorchvisionNames, AnOddPictureIsAnsweredAlike) {
  testing_support::expect_as_torchvision("mobilenet_v2", {49});
}

}  // namespace
}  // namespace pando
