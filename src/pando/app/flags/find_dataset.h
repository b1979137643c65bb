// Which data set a run trains on, and where its files are.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "pando/app/flags/data_flags.h"

namespace pando::app {

// The data set that a model of the zoo is made for; nothing for an unknown model, or when no flag
// names its data set yet.
std::optional<std::string> dataset_of_model(const std::string& model);

// Where the files of the data set are: --dataset-path, else where the system or an earlier download
// put them; nothing when they would have to be fetched. Throws UsageError when that is not possible
// or not allowed; the message says what to do.
std::optional<std::string> find_dataset(const DataFlags& flags);

}  // namespace pando::app
