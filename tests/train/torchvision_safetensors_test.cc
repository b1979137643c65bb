// Weights that torchvision wrote give its answers, and those that we write give them there.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <iostream>

#include <gtest/gtest.h>

#include "pando/store/safetensors.h"
#include "pando/train/safetensors_weights.h"
#include "pando/zoo/torchvision_names.h"
#include "pando/zoo/zoo.h"
#include "tests/data/foreign_software.h"
#include "tests/support/external.h"
#include "tests/support/temp_folder.h"

namespace pando {
namespace {

class TorchvisionSafetensors : public testing::TestWithParam<std::string> {};

TEST_P(TorchvisionSafetensors, BothWays) {
  const testing_support::TempFolder folder;
  const auto python = [&](const std::string& what, const std::string& weights) {
    return testing_support::run_command(
        concat(PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/train/torchvision_safetensors.py' ", what,
               " ", GetParam(), " '", folder.path(weights), "' '", folder.path("samples"), "'"));
  };
  const auto made = python("write", "theirs");
  if (made.exit_code == testing_support::kMissingPackage) {
    SKIP_WITHOUT("torchvision in Python (on Debian python3-torchvision)");
  }
  ASSERT_EQ(made.exit_code, 0) << made.output;
  Model model(zoo_entry(GetParam()).build({224, 224, 3}, 1000));
  model.load_weights(folder.path("theirs"));
  const store::SafetensorsFile samples = store::read_safetensors(folder.path("samples"));
  const Tensor answer = model.predict(samples.tensors[0].value);
  const Tensor& wanted = samples.tensors[1].value;
  double most = 0;
  for (size_t i = 0; i < wanted.f32().size(); ++i) {
    most = std::max(most, std::abs(std::log(static_cast<double>(answer.f32()[i])) -
                                   static_cast<double>(wanted.f32()[i])));
  }
  std::cout << GetParam() << ": difference " << most << std::endl;
  EXPECT_LT(most, 1e-4);
  save_safetensors(model, folder.path("ours"), {.names = WeightNames::torchvision});
  const auto checked = python("check", "ours");
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
  std::cout << GetParam() << " there: " << checked.output;
}

INSTANTIATE_TEST_SUITE_P(All, TorchvisionSafetensors,
                         testing::Values("resnet101", "vgg16", "mobilenet_v2", "efficientnet_b0",
                                         "convnext_tiny", "densenet121"));

// Without Python: also networks that are padded otherwise there.
TEST(SafetensorsWeightsOfAll, GoThereAndBack) {
  for (const std::string& name : torchvision_networks()) {
    if (name == "vgg16" || name == "resnet101") continue;  // checked above
    const int64_t side = 64;
    const testing_support::TempFolder folder;
    Model model(zoo_entry(name).build({side, side, 3}, 5), {.seed = 1});
    std::vector<Tensor> weights;
    for (const LayerInfo& layer : model.network().layers()) {
      for (const nn::WeightSpec& weight : layer.weights) {
        const bool projects =
            is_only_ours(layer.name) && (name == "resnet18" || name == "resnet34");
        weights.push_back(projects ? identity_weight(weight)
                                   : model.get_weight(layer.name + "/" + weight.name));
      }
    }
    model.set_weights(weights);
    save_safetensors(model, folder.path("w"), {.names = WeightNames::torchvision});
    Model other(zoo_entry(name).build({side, side, 3}, 5), {.seed = 2});
    other.load_weights(folder.path("w"));
    for (const std::string& weight : model.weight_names()) {
      EXPECT_TRUE(
          std::ranges::equal(other.get_weight(weight).f32(), model.get_weight(weight).f32()))
          << name << " " << weight;
    }
  }
}

}  // namespace
}  // namespace pando
