// The state of an optimizer in a Keras file: the group `optimizer_weights` of whole-model HDF5.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pando/base/json.h"
#include "pando/keras/weights.h"

namespace pando::keras {

struct OptimizerSlots {
  std::string rule;       // as ours is named: "adam"
  int64_t iteration = 0;  // weight updates that were made
  // By the name of the slot in our rule, then by that of the weight: slots["m"]["conv/kernel"].
  std::map<std::string, std::map<std::string, Tensor>> slots;
};

// Reads the names of Keras 2.0 to 2.10 ("Adam/conv/kernel/m:0") and of 2.11 to 2.15
// ("Adam/m/conv/kernel:0"). `training` is the training_config of the file, or null. Throws
// Unsupported for an optimizer or a slot that none of ours has.
OptimizerSlots optimizer_slots(const NamedTensors& weights, const Json& training);

// The weights of the group, in the names of Keras 2.15. Throws Unsupported for a rule that Keras
// does not have.
NamedTensors optimizer_weights(const OptimizerSlots& slots);

}  // namespace pando::keras
