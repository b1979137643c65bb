// Preprocessing inside the program: layers before a named model that preprocess the samples on the
// devices instead of the host.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/nn/network.h"

namespace pando {

// How the values 0 to 255 are changed.
enum class PreprocessValues {
  none,                // unchanged
  standardise,         // each image gets mean 0 and standard deviation 1
  normalise_imagenet,  // by the mean and standard deviation of ImageNet's channels
  scale_255,           // divided by 255
};

struct PreprocessOptions {
  bool eight_bit = false;  // the network is fed with bytes
  PreprocessValues values = PreprocessValues::none;
  bool flip = false;   // in training, mirrors the samples whose field "flip" (u8) is not zero
  bool fused = false;  // converts bytes and changes the values in one step
};

// Puts layers for the options before the network. In a pipeline they belong to stage 0. The weights
// of the network stay the same. Throws InvalidArgument unless the network has one input, of shape
// [height, width, channels], and the options are consistent.
Network with_preprocessing(const Network& network, const PreprocessOptions& options);

}  // namespace pando
