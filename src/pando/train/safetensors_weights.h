// Weights in safetensors files: by our names, and by torchvision's for the networks that the zoo
// has from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/store/weights_file.h"
#include "pando/train/model.h"

namespace pando {

enum class WeightNames {
  pando,        // "conv1_conv/kernel", in our order of axes
  torchvision,  // "conv1.weight", as in a state_dict
};

struct SafetensorsOptions {
  WeightNames names = WeightNames::pando;
  bool half = false;  // weights of two and more axes in f16, if their range allows it
};

// Writes the weights, in f32 unless they are stored in 16 bits, and the facts of the model as
// metadata. Throws Unsupported if torchvision does not have the network, or layers of it.
void save_safetensors(const Model& model, const std::string& path,
                      const SafetensorsOptions& options = {});

// The weights of a file for a network, as plan_assignment() takes them; the names tell their kind.
// Throws IoError for a damaged file.
store::WeightsFile read_safetensors_weights(const Network& network, const std::string& path);

}  // namespace pando
