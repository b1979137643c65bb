// Finds the data set that a run trains on, and its files.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "pando/app/flags/data_flags.h"

namespace pando::app {

// The data set that a model of the zoo was designed for; nothing for an unknown model, or if
// `pando train` cannot load that data set.
std::optional<std::string> dataset_of_model(const std::string& model);

// The folder with the files of the data set: --dataset-path, else where the system or an earlier
// download stored them; nothing if they have to be fetched first. Throws UsageError if fetching is
// impossible or not allowed; the message says what to do.
std::optional<std::string> find_dataset(const DataFlags& flags);

}  // namespace pando::app
