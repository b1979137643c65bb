// The results of a layer for all samples of a data set, computed once and kept in memory or in a
// file. The layers behind it are trained on them while the layers before do not change.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "pando/train/model.h"

namespace pando::train {

// Predicts with `part`, whose only output are the features. The fields of the result are the
// features, then those of `kept`, the places of fields of the data set. Throws IoError if the file
// cannot be written.
Dataset compute_features(Model& part, const Dataset& dataset, const FeatureOptions& options,
                         const std::vector<int>& kept);

// Throws InvalidArgument for a mode other than train and evaluate, and for a layer that is not a
// bottleneck of the network.
void check_features(const Network& network, const FeatureOptions& options);

// The passes that change only programs without a backward part: without them such a program has the
// forward part of training.
const std::vector<const char*>& inference_passes();

}  // namespace pando::train
