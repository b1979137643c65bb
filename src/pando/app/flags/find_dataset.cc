// SPDX-License-Identifier: MIT
#include "pando/app/flags/find_dataset.h"

#include <algorithm>

#include "pando/datasets/all_datasets.h"
#include "pando/fetch/folders.h"
#include "pando/options/usage_error.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

std::optional<std::string> dataset_of_model(const std::string& model) {
  const auto entry = std::ranges::find(model_zoo(), model, &ZooEntry::name);
  if (entry == model_zoo().end() || dataset_record(entry->dataset).load == nullptr) {
    return std::nullopt;
  }
  return entry->dataset;
}

std::optional<std::string> find_dataset(const DataFlags& flags) {
  if (flags.synthetic_data != SyntheticData::none) return std::nullopt;
  if (!flags.dataset_path.empty()) return flags.dataset_path;
  const DatasetRecord& record = dataset_record(flags.dataset);
  if (record.files.empty()) return "";
  if (!record.remote) throw UsageError("--dataset ", record.name, ": ", record.path_help);
  if (std::optional<std::string> found = fetch::find_here(*record.remote)) return found;
  if (flags.download) return std::nullopt;
  throw UsageError(
      "--dataset ", record.name, ": not found in ", fetch::dataset_folder(*record.remote, ""),
      ", and --no-download forbids downloading; run 'pando data fetch ", record.name,
      "', or get it from ", record.remote->homepage, " and give its folder with --dataset-path");
}

}  // namespace pando::app
