// SPDX-License-Identifier: MIT
#include "pando/app/flags/find_dataset.h"

#include <algorithm>

#include "pando/base/strings.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/find_files.h"
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
  const DatasetRecord& record = dataset_record(flags.dataset);
  if (!flags.dataset_path.empty()) {
    const std::vector<std::string> others = other_look_alikes(record, flags.dataset_path);
    if (others.empty()) return flags.dataset_path;
    throw UsageError("--dataset-path: the files in '", flags.dataset_path, "' are not those of ",
                     record.name, "; they look like ", join(others, " or "), ": add --dataset ",
                     others[0]);
  }
  if (record.files.empty()) return "";
  if (std::optional<std::string> found = find_files(record)) return found;
  if (record.remote && flags.download) return std::nullopt;
  const std::vector<std::string> places = search_places(record);
  const std::string looked =
      places.empty() ? "" : concat("not found in ", join(places, ", "), "; ");
  if (!record.remote) throw UsageError("--dataset ", record.name, ": ", looked, record.path_help);
  throw UsageError("--dataset ", record.name, ": ", looked,
                   "--no-download forbids downloading; run 'pando data fetch ", record.name,
                   "', or get it from ", record.remote->homepage,
                   " and give its folder with --dataset-path");
}

}  // namespace pando::app
