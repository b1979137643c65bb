// What the verbs over data sets share: which there are, and where they are.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <thread>

#include <fmt/core.h>

#include "pando/base/error.h"
#include "pando/cli/data_verbs.h"
#include "pando/fetch/folders.h"

namespace pando::cli {

int default_workers() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::string format_list() {
  std::string text = "data sets:\n";
  for (const DataFormat& format : data_formats()) {
    text += fmt::format("  {:<14} {}\n", format.name, format.files);
  }
  return text +
         "\nPATH may be left out for what 'pando data fetch' or a Debian package brought.\n\n";
}

std::string place_of(const DataFormat& format, const std::string& path) {
  if (!path.empty()) return path;
  for (const fetch::DatasetEntry& entry : fetch::catalog()) {
    if (entry.name != format.name) continue;
    if (const auto here = fetch::find_here(entry)) return *here;
    throw InvalidArgument(format.name, ": PATH: not given, and it is not where 'pando data fetch ",
                          format.name, "' would put it");
  }
  throw InvalidArgument(format.name, ": PATH: not given, wanted ", format.files);
}

}  // namespace pando::cli
