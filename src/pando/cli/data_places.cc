// Shared by the verbs that take a data set: the list of data sets and their places.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <thread>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/cli/data_verbs.h"
#include "pando/datasets/find_files.h"
#include "pando/options/usage_error.h"

namespace pando::cli {

int default_workers() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::string dataset_list() {
  std::string text = "data sets:\n";
  for (const DatasetRecord& record : all_datasets()) {
    text += fmt::format("  {:<14} {}\n", record.name, record.files);
  }
  return text + "\nPATH may be omitted for data sets that 'pando data list' finds.\n\n";
}

std::string place_of(const DatasetRecord& record, const std::string& path) {
  if (!path.empty() && !record.files.empty() && !path_exists(path)) {
    throw UsageError("PATH: '", path, "' does not exist; expected ", record.files, " (",
                     record.name, ")");
  }
  if (!path.empty() || record.files.empty()) return path;
  if (const auto here = find_files(record)) return *here;
  const std::vector<std::string> places = search_places(record);
  if (places.empty()) {
    throw InvalidArgument(record.name, ": PATH: not given, expected ", record.files);
  }
  throw InvalidArgument(
      record.name, ": PATH: not given, and not found in ", join(places, ", "), "; name its folder",
      record.remote ? concat(" or run 'pando data fetch ", record.name, "'") : "");
}

}  // namespace pando::cli
