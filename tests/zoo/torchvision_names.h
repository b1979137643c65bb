// What torchvision calls the weights of the networks that the zoo has too, and how its weights
// become ours.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/nn/network.h"
#include "pando/tensor/tensor.h"

namespace pando {

// A layer with weights and the module that has them in torchvision: "block1_expand_conv" and
// "features.1.conv.0.0".
struct TorchvisionModule {
  std::string layer;
  std::string module;
};

// The networks whose modules are known.
const std::vector<std::string>& torchvision_networks();

// All modules with weights. Throws InvalidArgument for a network that is not in the list.
std::vector<TorchvisionModule> torchvision_modules(const std::string& network);

// The key of a layer's weight in torchvision's state_dict: that of "gamma" is "bn1.weight".
std::string torchvision_key(const std::string& module, const std::string& weight);

// The weight of the layer in our order of axes. PyTorch has the outputs first, then the inputs,
// then height and width; a dense layer behind Flatten counts its inputs channel by channel there.
// Requires: `theirs` has as many elements as the weight.
Tensor from_torchvision(const Network& network, const LayerInfo& layer,
                        const nn::WeightSpec& weight, const Tensor& theirs);

}  // namespace pando
