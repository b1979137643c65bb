// Answers from two views: a picture and its mirror image.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/nn/network.h"

namespace pando::train {

// A network of the same inputs and weights, whose output is the mean of what `network` says about a
// picture and about its mirror image. Throws InvalidArgument unless the network takes one picture
// [height, width, channels], beside auxiliary inputs, and has one output of numbers that do not
// belong to places in the picture.
Network with_test_time_flip(const Network& network);

}  // namespace pando::train
