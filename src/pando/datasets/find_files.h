// Where the files of a data set are on this machine: in the folders that keep data sets, or where a
// Debian package puts them.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/datasets/dataset_record.h"

namespace pando {

// The places where find_files() looks, in its order. `folder` holds a folder for each data set;
// empty: the one of `pando data fetch`, if the environment names it, and $DATASETS_DIR.
std::vector<std::string> search_places(const DatasetRecord& record, const std::string& folder = "");

// The first of these places that has the files, as the readers of the data set take it.
std::optional<std::string> find_files(const DatasetRecord& record, const std::string& folder = "");

}  // namespace pando
