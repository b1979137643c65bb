#include "pando/zoo/zoo.h"

#include <map>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/zoo/by_name.h"

namespace pando {
namespace {

TEST(Zoo, ParameterCounts) {
  const std::map<std::string, int64_t> trainable = {
      {"mnist_cnn", 34826},         {"cifar10_cnn", 1250858},    {"cifar_resnet8", 75290},
      {"cifar_resnet20", 269722},   {"cifar_resnet32", 464154},  {"cifar_resnet44", 658586},
      {"cifar_resnet56", 853018},   {"toy_model", 242},          {"toy_model_bn", 266},
      {"cosmoflow", 619956},        {"resnet18", 11693736},      {"resnet34", 21801896},
      {"resnet50", 25557032},       {"cosmoflow_v1", 19476},     {"cosmoflow_resnet", 6722436},
      {"mobilenet_v2", 3504872},    {"resnet101", 44549160},     {"vgg16", 138357544},
      {"densenet121", 7978856},     {"cifar_wrn_16_4", 2748890}, {"unet", 31037698},
      {"efficientnet_b0", 5288548}, {"convnext_tiny", 28589128}, {"unet_small", 482754},
      {"unet3d", 5601154},          {"fast_resnet7", 288202}};
  ASSERT_EQ(trainable.size(), model_zoo().size());
  for (const ZooEntry& entry : model_zoo()) {
    EXPECT_EQ(by_name(entry.name).trainable_parameters(), trainable.at(entry.name)) << entry.name;
  }
}

TEST(Zoo, MovingStatisticsAreNotTrained) {
  const std::map<std::string, int64_t> moving = {
      {"resnet18", 9728},  {"resnet34", 17152},        {"resnet50", 53120},
      {"mnist_cnn", 0},    {"cifar_resnet8", 480},     {"toy_model_bn", 24},
      {"cosmoflow_v1", 0}, {"cosmoflow_resnet", 15488}};
  for (const auto& [name, count] : moving) {
    const Network network = by_name(name);
    EXPECT_EQ(network.parameters() - network.trainable_parameters(), count) << name;
  }
}

TEST(Zoo, Flops) {
  EXPECT_NEAR(forward_flops(by_name("resnet18")) / 1e9, 3.654, 0.001);
  EXPECT_NEAR(forward_flops(by_name("resnet50")) / 1e9, 8.18, 0.01);
  EXPECT_NEAR(forward_flops(by_name("mnist_cnn")) / 1e6, 4.88, 0.01);
  EXPECT_NEAR(forward_flops(by_name("cifar10_cnn")) / 1e6, 41.48, 0.01);
  EXPECT_NEAR(forward_flops(by_name("cifar_resnet8")) / 1e6, 24.48, 0.01);
  EXPECT_NEAR(forward_flops(by_name("fast_resnet7")) / 1e6, 13.46, 0.05);
  EXPECT_NEAR(forward_flops(by_name("cosmoflow")) / 1e6, 772.3, 0.5);
}

TEST(Zoo, LayerNamesOfResidualBlocks) {
  const Network network = by_name("cifar_resnet8");
  for (const char* name :
       {"conv1_conv", "conv1_bn", "conv1_relu", "conv2_block1_layer1_conv",
        "conv3_block1_layer1_conv_ds", "conv3_block1_shortcut", "conv4_block1_add",
        "conv4_block1_post_addition_relu", "avg_pool", "fc_layer"}) {
    EXPECT_NO_THROW(network.layer(name)) << name;
  }
}

TEST(Zoo, UnknownNameSuggests) {
  try {
    zoo_entry("cifar_resnet9");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'cifar_resnet8'"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace pando
