// Weights of samples by their classes.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/data/dataset.h"
#include "pando/nn/losses.h"

namespace pando::train {

// Multiplies the weight of each sample, for the loss of an output, by the weight of its class;
// classes without an entry have weight 1. Throws InvalidArgument for outputs that are not named
// where there are several, outputs that are not one number per class, data without labels, and
// weights that are negative or not finite; the data throw it for a label of a single number that is
// neither 0 nor 1.
Dataset with_class_weight(const Dataset& data, const Network& network, const ClassWeights& weights);

}  // namespace pando::train
