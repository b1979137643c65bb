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

// The layers of a network in execution order, with the seconds of their ops in a trace of
// unpipelined training, summed over all workers. The loss and the metrics belong to the last layer;
// the time of a layer that was fused into an earlier one counts for that one. A layer can start a
// stage if it is called once, is not the first and has an op of its own.
std::vector<LayerSeconds> layer_seconds(const Network& network, const profile::Trace& trace);

// The splits that make the longest stage as short as possible. Throws InvalidArgument when fewer
// layers than stages can start one.
MeasuredSplits choose_splits(const std::vector<LayerSeconds>& layers, int stages);

}  // namespace pando::train
