// The data sets that `pando train` reads: their names, which model has which, and reading them.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pando/app/train_options.h"
#include "pando/data/sources/train_test.h"

namespace pando::app {

const std::vector<std::pair<std::string, DatasetKind>>& dataset_names();
const std::string& to_string(DatasetKind kind);

// The data set that a model of the zoo is made for; nothing for an unknown model, or when no flag
// names its data set yet.
std::optional<DatasetKind> dataset_of_model(const std::string& model);

// Throws UsageError that says where the files come from when there is no place to look for them.
void validate_dataset(const TrainOptions& options);

// Ready for the network: MNIST and its relatives in [0, 1]; CIFAR standardised image by image, the
// training images also mirrored and moved at random.
TrainTest load_dataset(const TrainOptions& options);

}  // namespace pando::app
