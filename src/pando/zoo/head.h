// Models for other tasks than their own: the last layer of a classifier can be made anew, for
// several classes at once or for numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/zoo/zoo.h"

namespace pando::zoo {

// The same network with another activation in its last layer, which keeps its name, size and
// initial weights. Throws InvalidArgument for networks that do not end with one dense layer.
Network with_activation(const Network& network, const std::string& activation);

// The model for a task: itself, or a classifier with the activation and loss of the task. Throws
// InvalidArgument, which names both tasks, for other models.
ZooEntry for_task(const ZooEntry& entry, const std::string& task);

}  // namespace pando::zoo
