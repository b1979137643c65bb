// Preprocessing inside the program: layers before a named model that do on the devices what the
// host would do to every sample otherwise.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/nn/network.h"

namespace pando {

// What becomes of the values 0 to 255.
enum class PreprocessValues {
  none,                // stay
  standardise,         // each image with mean 0 and deviation 1
  normalise_imagenet,  // by the mean and deviation of ImageNet's channels
  scale_255,           // divided by 255
};

struct PreprocessOptions {
  bool eight_bit = false;  // the network is fed with bytes
  PreprocessValues values = PreprocessValues::none;
  bool flip = false;   // mirrors in training the samples whose field "flip" (u8) is not zero
  bool fused = false;  // bytes to values in one step
};

// The network behind layers for the options, which belong to stage 0 of a pipeline. Its weights are
// those it has without them. Throws InvalidArgument unless it has one input, of the shape [height,
// width, channels], and the options go together.
Network with_preprocessing(const Network& network, const PreprocessOptions& options);

}  // namespace pando
