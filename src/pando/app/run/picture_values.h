// The numbers that a network from a file expects for pixels, and those that a data set gives.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/app/flags/model_file.h"
#include "pando/datasets/dataset_record.h"

namespace pando::app {

// The network for samples of the data set: with a layer in front of it that turns their numbers
// into those that the file asks for, if they differ. `note` gets a line about it: what was done, or
// that the file says nothing. `dataset` may be null: then nothing is known about the samples.
Network for_values_of(const DatasetRecord* dataset, const ModelFile& file, const Network& network,
                      std::string& note);

}  // namespace pando::app
