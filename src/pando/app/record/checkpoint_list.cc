// SPDX-License-Identifier: MIT
#include "pando/app/record/checkpoint_list.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "pando/base/error.h"
#include "pando/base/paths.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "epoch_";
constexpr std::string_view kSuffix = ".h5";

// Files whose names end in ".h5", except files that are still being written: their names begin
// with a dot.
std::vector<fs::path> weight_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;  // ignores links to missing files
    if (name.ends_with(kSuffix) && !name.starts_with('.') && entry->is_regular_file(unknown)) {
      files.push_back(entry->path());
    }
  }
  if (error) {
    throw IoError("checkpoints in ", folder.string(), ": ", error.message(),
                  "; expected a folder with files epoch_<number>.h5");
  }
  return files;
}

}  // namespace

std::optional<double> epoch_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  if (name.size() <= kSuffix.size()) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  const bool starts_as_number = name.front() >= '0' && name.front() <= '9';
  if (!starts_as_number) return std::nullopt;
  const std::optional<double> epoch = parse_double(name);
  if (!epoch || !std::isfinite(*epoch)) return std::nullopt;
  return epoch;
}

std::vector<CheckpointFile> checkpoints_in(const fs::path& folder) {
  std::vector<CheckpointFile> found;
  for (const fs::path& path : weight_files(folder)) {
    if (const auto epoch = epoch_of(path.filename().string())) found.push_back({path, *epoch});
  }
  std::sort(found.begin(), found.end(), [](const CheckpointFile& a, const CheckpointFile& b) {
    return std::tie(a.epoch, a.path) < std::tie(b.epoch, b.path);
  });
  return found;
}

std::vector<fs::path> unnumbered_weights_in(const fs::path& folder) {
  std::vector<fs::path> found = weight_files(folder);
  std::erase_if(
      found, [](const fs::path& path) { return epoch_of(path.filename().string()).has_value(); });
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::filesystem::path> folders_around(const std::filesystem::path& place) {
  if (place.empty()) return {};
  std::filesystem::path folder = std::filesystem::absolute(place).lexically_normal();
  if (!is_folder(folder) || folder.filename().empty()) folder = folder.parent_path();
  if (folder.filename().string().starts_with("rank")) folder = folder.parent_path();
  return {folder, folder.parent_path()};
}

}  // namespace pando::app
