// Maps the weights of torchvision's networks to the same networks of the zoo: names and conversion.
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
  bool is_linear = false;  // a dense layer there, a convolution of 1x1 here
};

// The networks whose modules are known.
const std::vector<std::string>& torchvision_networks();

// All modules with weights. Throws InvalidArgument for a network that is not in the list.
std::vector<TorchvisionModule> torchvision_modules(const std::string& network);

// The key of a layer's weight in torchvision's state_dict: that of "gamma" is "bn1.weight".
std::string torchvision_key(const std::string& module, const std::string& weight);

// The weight of the layer in our order of axes. PyTorch has the outputs first, then the inputs,
// then height and width; a dense layer behind Flatten counts its inputs channel by channel there.
// `theirs` is f32. A weight of another size keeps its own shape, with the axes moved.
Tensor from_torchvision(const Network& network, const LayerInfo& layer,
                        const nn::WeightSpec& weight, const Tensor& theirs);
// The other way round, for a weight of the layer `module.layer`. Requires: `ours` is f32 and has
// the shape of the weight in files.
Tensor to_torchvision(const Network& network, const TorchvisionModule& module,
                      const nn::WeightSpec& weight, const Tensor& ours);

// Whether the layer belongs to a projected shortcut that the small residual networks of torchvision
// do not project.
bool is_only_ours(const std::string& layer);
// The weight that makes such a projection the identity.
Tensor identity_weight(const nn::WeightSpec& weight);

}  // namespace pando
