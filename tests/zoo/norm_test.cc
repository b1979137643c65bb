#include "pando/zoo/norm.h"

#include <gtest/gtest.h>

#include "pando/zoo/zoo.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

Network built(const std::string& name, const NormOptions& norm) {
  const ZooEntry& entry = zoo_entry(name);
  return entry.build(entry.input_shape, entry.outputs, {.norm = norm});
}

TEST(Norm, ModelsSayWhetherTheyNormalise) {
  for (const ZooEntry& entry : model_zoo()) {
    const Network network = entry.build(entry.input_shape, entry.outputs);
    EXPECT_EQ(network.parameters() > network.trainable_parameters(), entry.normalises)
        << entry.name;
  }
}

TEST(Norm, MomentumReachesTheMovingStatistics) {
  for (const char* kind : {"batch_norm", "custom_batch_norm"}) {
    const Network network = built("cifar_resnet8", {.name = kind, .params = {{"momentum", 0.6}}});
    const LayerInfo& layer = network.layer("conv3_block1_layer2_bn");
    ASSERT_EQ(layer.weights.size(), 4u);
    EXPECT_EQ(layer.weights[2].moving_momentum, 0.6);
    EXPECT_EQ(layer.weights[3].moving_momentum, 0.6);
  }
  EXPECT_EQ(built("toy_model_bn", {}).layer("bn_0").weights[2].moving_momentum, 0.97);
  const Network keras = built("toy_model_bn", {.name = "batch_norm"});
  EXPECT_EQ(keras.layer("bn_0").weights[2].moving_momentum, 0.99);
}

// With group_norm there are as many trained weights and no moving statistics, and names have gn
// instead of bn.
TEST(Norm, GroupNormTakesThePlaceOfBatchNorm) {
  for (const char* name :
       {"toy_model_bn", "cifar_resnet20", "resnet18", "resnet50", "cosmoflow_resnet"}) {
    const Network batch = built(name, {});
    const Network group = built(name, {.name = "group_norm", .params = {{"num_groups", 4}}});
    EXPECT_EQ(group.parameters(), batch.trainable_parameters()) << name;
    ASSERT_EQ(group.layers().size(), batch.layers().size()) << name;
    for (size_t i = 0; i < group.layers().size(); ++i) {
      std::string wanted = batch.layers()[i].name;
      if (const size_t at = wanted.find("bn"); at != std::string::npos) wanted.replace(at, 2, "gn");
      EXPECT_EQ(group.layers()[i].name, wanted) << name;
    }
  }
}

TEST(Norm, GroupsAreCountedOrSized) {
  const auto groups = [](const NormOptions& norm, const char* layer) {
    const Network network = built("cifar_resnet8", norm);
    const NetworkGraph graph = network.build({.batch = 2});
    for (const auto& node : graph.graph.nodes()) {
      if (node->name() == layer) return node->output(1)->shape()[1];
    }
    return int64_t{-1};
  };
  const NormOptions counted = {.name = "group_norm", .params = {{"num_groups", 8}}};
  const NormOptions sized = {.name = "group_norm", .params = {{"channels_per_group", 8}}};
  EXPECT_EQ(groups(counted, "conv1_gn"), 8);
  EXPECT_EQ(groups(counted, "conv4_block1_layer1_gn"), 8);
  EXPECT_EQ(groups(sized, "conv1_gn"), 2);
  EXPECT_EQ(groups(sized, "conv4_block1_layer1_gn"), 8);
}

TEST(Norm, GroupsThatCannotBe) {
  const auto error = [](const NormOptions& norm) {
    return error_of([&] { built("cifar_resnet8", norm); });
  };
  const auto sized = [&](const std::string& key) {
    return error({.name = "group_norm", .params = {{key, 32}}});
  };
  EXPECT_SAYS(sized("num_groups"), "'conv1_gn'", "num_groups", "divisor of 16", "got 32");
  EXPECT_SAYS(sized("channels_per_group"), "'conv1_gn'", "channels_per_group", "divisor of 16",
              "got 32");
  EXPECT_SAYS(error({.name = "group_norm"}), "num_groups", "channels_per_group", "got 0 and 0");
  EXPECT_SAYS(
      error({.name = "group_norm", .params = {{"num_groups", 2}, {"channels_per_group", 2}}}),
      "exactly one", "got 2 and 2");
}

TEST(Norm, EveryRecordBuildsALayerOfItsName) {
  for (const zoo::NormRecord& record : zoo::normalisations()) {
    NormOptions options{.name = record.name};
    if (!record.exactly_one.empty()) options.params[record.exactly_one.front()] = 2;
    EXPECT_NO_THROW(built("cifar_resnet8", options).layer("conv1_" + record.stem)) << record.name;
    EXPECT_EQ(&zoo::norm_record(record.name), &record);
  }
}

TEST(Norm, UnknownNamesSuggest) {
  const auto error = [](const NormOptions& norm) {
    return error_of([&] { built("cifar_resnet8", norm); });
  };
  EXPECT_SAYS(error({.name = "group_nrm"}), "did you mean 'group_norm'?");
  EXPECT_SAYS(error({.name = "batch_norm", .params = {{"momentun", 1}}}),
              "batch_norm: ", "parameter 'momentun'", "did you mean 'momentum'?");
}

TEST(Norm, ModelsWithoutNormalisationStayAsTheyAre) {
  const NormOptions group = {.name = "group_norm", .params = {{"num_groups", 3}}};
  for (const char* name : {"mnist_cnn", "cifar10_cnn", "toy_model", "cosmoflow", "cosmoflow_v1"}) {
    EXPECT_EQ(built(name, group).parameters(), built(name, {}).parameters()) << name;
  }
}

}  // namespace
}  // namespace pando
