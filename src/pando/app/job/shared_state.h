// What only the first instance of a job reads from files, for all: the state of a run, weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "pando/app/job/instances.h"
#include "pando/train/model.h"

namespace pando::app {

// Makes `state` that of the first instance, on all of them.
void share_state(const Instances& instances, std::optional<TrainingState>& state);

// Gives the model the weights that it has on the first instance.
void share_weights(const Instances& instances, Model& model);

}  // namespace pando::app
