// Compares a network with that of torchvision, which has the same weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/strings.h"
#include "pando/store/hdf5_reader.h"
#include "pando/train/model.h"
#include "pando/zoo/torchvision_names.h"
#include "pando/zoo/zoo.h"
#include "tests/data/foreign_software.h"
#include "tests/support/external.h"
#include "tests/support/temp_folder.h"

namespace pando::testing_support {

// The network as torchvision has it. Our smaller residual networks are padded as in Keras and
// normalise with its epsilon by default.
inline Network as_in_torchvision(const std::string& name, int64_t side) {
  const std::map<std::string, ResnetOptions> resnets = {
      {"resnet18", {.blocks = {2, 2, 2, 2}}},
      {"resnet34", {.blocks = {3, 4, 6, 3}}},
      {"resnet50", {.blocks = {3, 4, 6, 3}, .bottleneck = true}}};
  const Shape shape = {side, side, 3};
  const auto found = resnets.find(name);
  if (found == resnets.end()) return zoo_entry(name).build(shape, 1000);
  ResnetOptions options = found->second;
  options.padding = "symmetric";
  options.norm.epsilon = zoo::kTorchEpsilon;
  return resnet(shape, 1000, options);
}

inline std::vector<Tensor> torchvision_weights(const std::string& name, const Network& network,
                                               store::Hdf5Reader& file) {
  std::map<std::string, std::string> modules;
  for (const TorchvisionModule& each : torchvision_modules(name)) modules[each.layer] = each.module;
  std::vector<Tensor> weights;
  for (const LayerInfo& layer : network.layers()) {
    for (const nn::WeightSpec& weight : layer.weights) {
      const auto module = modules.find(layer.name);
      if (module == modules.end()) {
        EXPECT_TRUE(is_only_ours(layer.name)) << layer.name;
        weights.push_back(identity_weight(weight));
        continue;
      }
      const Tensor theirs =
          file.read_tensor("/weights/" + torchvision_key(module->second, weight.name));
      weights.push_back(from_torchvision(network, layer, weight, theirs));
    }
  }
  return weights;
}

// The greatest difference of the logarithms of the probabilities, as a share of the greatest
// distance of one from their mean; NaN if one of them is NaN.
inline double greatest_difference(const Tensor& probabilities, const Tensor& logarithms) {
  const auto ours = probabilities.f32();
  const auto theirs = logarithms.f32();
  double mean = 0;
  for (const float each : theirs) mean += each / static_cast<double>(theirs.size());
  double most = 0;
  double scale = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    const double error = std::abs(std::log(static_cast<double>(ours[i])) - theirs[i]);
    if (std::isnan(error)) return error;
    most = std::max(most, error);
    scale = std::max(scale, std::abs(theirs[i] - mean));
  }
  return most / scale;
}

// Expects that both answer alike to pictures of these sizes.
inline void expect_as_torchvision(const std::string& name, const std::vector<int64_t>& sides) {
  constexpr double kTolerance = 1e-4;
  const TempFolder folder;
  const std::string path = folder.path("network.h5");
  const std::string script = PANDO_SOURCE_DIR "/tests/zoo/torchvision_networks.py";
  std::string command = concat(PANDO_PYTHON " '", script, "' ", name, " '", path, "'");
  for (const int64_t side : sides) command += concat(" ", side);
  const CommandResult made = run_command(command);
  if (made.exit_code == kMissingPackage) {
    SKIP_WITHOUT("torchvision in Python (on Debian python3-torchvision)");
  }
  ASSERT_EQ(made.exit_code, 0) << made.output;
  store::Hdf5Reader file(path);
  for (const int64_t side : sides) {
    const Network network = as_in_torchvision(name, side);
    Model model(network);
    model.set_weights(torchvision_weights(name, network, file));
    const Tensor answer = model.predict(file.read_tensor(concat("/x_", side)));
    const Tensor wanted = file.read_tensor(concat("/y_", side));
    ASSERT_EQ(answer.shape(), wanted.shape());
    const double found = greatest_difference(answer, wanted);
    std::cout << name << " at " << side << " pixels: difference " << found << std::endl;
    EXPECT_LE(found, kTolerance) << name << " at " << side;
  }
}

}  // namespace pando::testing_support
