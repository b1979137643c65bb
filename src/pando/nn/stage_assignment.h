// Which pipeline stage each call of a layer belongs to, as users read and edit it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace pando {

// One call of a layer. Inputs of a network are not listed: they belong to stage 0.
struct StageAssignment {
  std::string layer;
  int node_index = 0;  // which call of that layer, counted in execution order
  std::vector<std::string> inbound_layers;
  int pipeline_stage = -1;  // -1: none
};

}  // namespace pando
