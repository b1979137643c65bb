// Shared by the verbs that take a data set: the list of data sets and their places.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/core.h>

#include "pando/cli/data_verbs.h"
#include "pando/fetch/folders.h"
#include "pando/options/usage_error.h"

namespace pando::cli {

int default_workers() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::string dataset_list() {
  std::string text = "data sets:\n";
  for (const DatasetRecord& record : all_datasets()) {
    text += fmt::format("  {:<14} {}\n", record.name, record.files);
  }
  return text +
         "\nPATH may be omitted for data sets that come from 'pando data fetch' or a Debian "
         "package.\n\n";
}

std::string place_of(const DatasetRecord& record, const std::string& path) {
  if (!path.empty() && !record.files.empty() && !std::filesystem::exists(path)) {
    throw UsageError("PATH: '", path, "' does not exist; expected ", record.files, " (",
                     record.name, ")");
  }
  if (!path.empty() || record.files.empty()) return path;
  if (!record.remote) {
    throw InvalidArgument(record.name, ": PATH: not given, expected ", record.files);
  }
  if (const auto here = fetch::find_here(*record.remote)) return *here;
  throw InvalidArgument(record.name,
                        ": PATH: not given, and the data set is not on this machine; run "
                        "'pando data fetch ",
                        record.name, "' or name its folder");
}

}  // namespace pando::cli
