// All data sets.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/datasets/dataset_record.h"

namespace pando {

const std::vector<DatasetRecord>& all_datasets();

// Throws InvalidArgument with the known names, the nearest first.
const DatasetRecord& dataset_record(std::string_view name);

// A data set that has `remote`. Throws InvalidArgument for an unknown name, and for a data set that
// users have to get from its owners.
const DatasetRecord& fetchable_dataset(std::string_view name);

// The names of the data sets that `pando train` offers, and of those among them with views.
std::vector<std::string> trainable_datasets();
// The trainable ones that the files at `path` look like; empty if they may be of `record`.
std::vector<std::string> other_look_alikes(const DatasetRecord& record, const std::string& path);
std::vector<std::string> datasets_with_views();

}  // namespace pando
