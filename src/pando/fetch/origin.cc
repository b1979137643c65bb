// SPDX-License-Identifier: MIT
#include "pando/fetch/origin.h"

#include <filesystem>

#include "pando/fetch/digest.h"

namespace pando::fetch {

FileOrigin origin_of(const RemoteDataset& dataset, const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  for (const RemoteFile& file : dataset.files) {
    if (file.name != name || file.sha256.empty()) continue;
    const bool same = digest_of_file(path, DigestKind::sha256) == file.sha256;
    return same ? FileOrigin::official : FileOrigin::other;
  }
  return FileOrigin::unknown;
}

}  // namespace pando::fetch
