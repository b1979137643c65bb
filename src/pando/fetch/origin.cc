// SPDX-License-Identifier: MIT
#include "pando/fetch/origin.h"

#include <filesystem>

#include "pando/fetch/digest.h"

namespace pando::fetch {

FileOrigin origin_of(const DatasetEntry& entry, const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  for (const RemoteFile& file : entry.files) {
    if (file.name != name || file.sha256.empty()) continue;
    const bool same = digest_of_file(path, DigestKind::sha256) == file.sha256;
    return same ? FileOrigin::official : FileOrigin::other;
  }
  return FileOrigin::unknown;
}

FileOrigin origin_of(const std::string& dataset, const std::string& path) {
  for (const DatasetEntry& entry : catalog()) {
    if (entry.name == dataset) return origin_of(entry, path);
  }
  return FileOrigin::unknown;
}

}  // namespace pando::fetch
