// Weights of samples by their classes.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>

#include "pando/data/dataset.h"
#include "pando/nn/network.h"

namespace pando::train {

// The data with the weight of each sample multiplied by that of its class; classes that are not in
// the map have weight 1. Throws InvalidArgument unless the network has one output with a number per
// class, labels are class numbers or one-hot, and weights are finite and not negative.
Dataset with_class_weight(const Dataset& data, const Network& network,
                          const std::map<int64_t, double>& weights);

}  // namespace pando::train
