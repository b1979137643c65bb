#include "pando/train/safetensors_weights.h"

#include <algorithm>

#include "pando/nn/layers.h"
#include "pando/store/safetensors.h"
#include "pando/zoo/torchvision_names.h"
#include "pando/zoo/zoo.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

using testing_support::error_of;

void expect_same_weights(const Model& a, const Model& b) {
  ASSERT_EQ(a.weight_names(), b.weight_names());
  for (const std::string& name : a.weight_names()) {
    EXPECT_TRUE(std::ranges::equal(a.get_weight(name).f32(), b.get_weight(name).f32())) << name;
  }
}

TEST(SafetensorsWeights, AreReadBackByOurNamesAndByThoseOfTorchvision) {
  const testing_support::TempFolder folder;
  const std::string path = folder.path("weights.safetensors");
  Model model(mobilenet_v2({32, 32, 3}, 7), {.seed = 3});
  model.set_facts({.labels = {"a", "b"}});
  for (const WeightNames names : {WeightNames::pando, WeightNames::torchvision}) {
    save_safetensors(model, path, {.names = names});
    Model other(mobilenet_v2({32, 32, 3}, 7), {.seed = 4});
    other.load_weights(path);
    expect_same_weights(other, model);
    const store::SafetensorsFile file = store::read_safetensors(path);
    EXPECT_EQ(file.metadata.at("pando.labels"), "[\"a\",\"b\"]");
    const auto has = [&](const char* name) {
      return std::ranges::find(file.tensors, name, &store::NamedWeight::name) != file.tensors.end();
    };
    EXPECT_EQ(has("conv1_conv/kernel"), names == WeightNames::pando);
    EXPECT_EQ(has("features.0.0.weight"), names == WeightNames::torchvision);
  }
}

TEST(SafetensorsWeights, FlattenedPicturesAreReordered) {
  const SymbolicTensor input = Input({2, 3, 4});
  const Network network(input, Dense({.units = 5, .name = "dense"})(Flatten()(input)));
  const LayerInfo& dense = network.layer("dense");
  Tensor ours(DType::f32, {24, 5});
  for (size_t i = 0; i < ours.f32().size(); ++i) ours.f32()[i] = static_cast<float>(i);
  const Tensor theirs = to_torchvision(network, {"dense", "fc"}, dense.weights[0], ours);
  EXPECT_EQ(theirs.shape(), (Shape{5, 24}));
  EXPECT_EQ(theirs.f32()[4 * 24 + 3 * 6 + 1 * 3 + 2], ((1 * 3 + 2) * 4 + 3) * 5 + 4);
  EXPECT_TRUE(std::ranges::equal(from_torchvision(network, dense, dense.weights[0], theirs).f32(),
                                 ours.f32()));
}

TEST(SafetensorsWeights, HalfAndOtherHeads) {
  const testing_support::TempFolder folder;
  const std::string path = folder.path("half.safetensors");
  Model model(mobilenet_v2({32, 32, 3}, 7), {.seed = 3});
  save_safetensors(model, path, {.names = WeightNames::torchvision, .half = true});
  Model other(mobilenet_v2({32, 32, 3}, 9), {.seed = 4});
  EXPECT_SAYS(error_of([&] { other.load_weights(path); }), "predictions");
  const LoadReport report = other.load_weights(path, {.by_name = true, .skip_mismatch = true});
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_SAYS(report.skipped[0], "predictions");
  EXPECT_NEAR(other.get_weight("conv1_conv/kernel").f32()[5],
              model.get_weight("conv1_conv/kernel").f32()[5], 1e-3);
}

TEST(SafetensorsWeights, WhatTorchvisionDoesNotHaveIsRefused) {
  const testing_support::TempFolder folder;
  const std::string path = folder.path("x.safetensors");
  const SafetensorsOptions theirs{.names = WeightNames::torchvision};
  const Model toy(zoo_entry("toy_model").build({32, 32, 3}, 10));
  EXPECT_SAYS(error_of<Unsupported>([&] { save_safetensors(toy, path, theirs); }), "resnet50");
  const Model small(zoo_entry("resnet18").build({32, 32, 3}, 10));
  EXPECT_SAYS(error_of<Unsupported>([&] { save_safetensors(small, path, theirs); }),
              "conv2_block1_0_conv/kernel", "our names");
  save_safetensors(toy, path);
  Model other(mobilenet_v2({32, 32, 3}, 7));
  EXPECT_SAYS(error_of([&] { other.load_weights(path); }), path);
}

}  // namespace
}  // namespace pando
