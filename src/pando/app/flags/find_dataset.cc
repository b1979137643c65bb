// SPDX-License-Identifier: MIT
#include "pando/app/flags/find_dataset.h"

#include <algorithm>

#include "pando/fetch/fetch.h"
#include "pando/fetch/folders.h"
#include "pando/options/usage_error.h"
#include "pando/zoo/zoo.h"

namespace pando::app {

std::optional<DatasetKind> dataset_of_model(const std::string& model) {
  const auto entry = std::ranges::find(model_zoo(), model, &ZooEntry::name);
  if (entry == model_zoo().end()) return std::nullopt;
  for (const auto& [name, kind] : dataset_names()) {
    if (name == entry->dataset) return kind;
  }
  return std::nullopt;
}

std::optional<std::string> find_dataset(const DataFlags& flags) {
  if (flags.synthetic_data != SyntheticData::none) return std::nullopt;
  if (!flags.dataset_path.empty()) return flags.dataset_path;
  const std::string& name = to_string(flags.dataset);
  if (flags.dataset == DatasetKind::imagenet) {
    throw UsageError(
        "--dataset imagenet: name the folder of its shards with --dataset-path; 'pando "
        "data build-imagenet' makes them from the images of ILSVRC2012, 'pando data "
        "make-imagenet' makes a small set to try");
  }
  if (flags.dataset == DatasetKind::image_folder) {
    throw UsageError(
        "--dataset image_folder: name the folder with --dataset-path; in it train and "
        "validation, in these a folder of images per class");
  }
  const fetch::DatasetEntry& entry = fetch::entry(name);
  if (std::optional<std::string> found = fetch::find_here(entry)) return found;
  if (flags.download) return std::nullopt;
  throw UsageError("--dataset ", name, ": it is not in ", fetch::dataset_folder(entry, ""),
                   " and --no-download forbids to fetch it; 'pando data fetch ", name,
                   "' does that, or get it from ", entry.homepage,
                   " and name its folder with --dataset-path");
}

}  // namespace pando::app
