// Chooses where a network is split into pipeline stages, from the time that its layers take.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/nn/network.h"
#include "pando/profile/trace.h"
#include "pando/train/parallel_options.h"

namespace pando::train {

struct LayerSeconds {
  std::string layer;
  runtime::StageSeconds seconds;
  bool can_start_a_stage = true;
};

// The layers of a network in execution order with the op seconds that a trace of unpipelined
// training has of them, over all workers. The loss and the metrics belong to the last layer; what
// was fused with a layer before it has the time there. A layer can start a stage when it is called
// once, is not the first and has an op of its own.
std::vector<LayerSeconds> layer_seconds(const Network& network, const profile::Trace& trace);

// The splits after which the longest stage is as short as it can be. Throws InvalidArgument when
// fewer layers than stages can start one.
MeasuredSplits choose_splits(const std::vector<LayerSeconds>& layers, int stages);

}  // namespace pando::train
