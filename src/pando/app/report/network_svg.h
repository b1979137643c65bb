// A drawing of a network: a box for each layer, from the inputs at the top to the outputs.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/nn/network.h"

namespace pando::app {

// Boxes show name, class and output shape; pointing at one shows its parameters. Edges are those of
// the first call of a layer.
std::string network_svg(const Network& network);

}  // namespace pando::app
