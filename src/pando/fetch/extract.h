// Unpacks the files that the catalog names out of a compressed tar archive, and nothing else.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/fetch/remote_dataset.h"

namespace pando::fetch {

struct ExtractedFile {
  std::string path;  // below the folder
  std::string sha256;
};

// Writes the files below `folder`, which exists and has none of them. Throws IoError if the archive
// cannot be read, lacks a file, has a file of another size or a file twice, or has a link, an
// absolute path or a path with .. in it.
std::vector<ExtractedFile> extract(const std::string& archive,
                                   const std::vector<ArchivedFile>& wanted,
                                   const std::string& folder);

}  // namespace pando::fetch
