// The numbers that a network from a file expects for pixels, and those that a data set gives.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "pando/app/flags/model_file.h"
#include "pando/datasets/dataset_record.h"

namespace pando::app {

// How pictures are prepared for a network of a file, as the file says or, if it says nothing, the
// flag --preprocessing; nothing: neither does.
std::optional<PicturePreparation> wanted_preparation(
    const ModelFile& file, const Network& network, const std::optional<std::string>& preprocessing);

// The network for samples of the data set: with a layer in front of it that turns their numbers
// into those that the file asks for, if they differ. `note` gets a line about it: what was done, or
// that the file says nothing. `preprocessing` is the flag of that name, for files that say nothing.
Network for_values_of(const DatasetRecord& dataset, const ModelFile& file, const Network& network,
                      const std::optional<std::string>& preprocessing, std::string& note);

}  // namespace pando::app
