// Sends what only the first instance of a job reads from files to all: training state and weights.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "pando/app/job/instances.h"
#include "pando/train/model.h"

namespace pando::app {

// Replaces `state` on all instances by that of the first.
void share_state(const Instances& instances, std::optional<TrainingState>& state);

// Replaces the weights of the model on all instances by those of the first.
void share_weights(const Instances& instances, Model& model);

}  // namespace pando::app
