// The pipeline stage of each call of a layer, in a form that users can read and edit.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace pando {

// One call of a layer. Inputs of a network are not listed: they belong to stage 0.
struct StageAssignment {
  std::string layer;
  int node_index = 0;  // the number of the call among those of that layer, in execution order
  std::vector<std::string> inbound_layers;
  int pipeline_stage = -1;  // -1: none
};

}  // namespace pando
