// The files of a data set that can be fetched: where they are, how large they are, which checksums
// are published, and how they are unpacked.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pando::fetch {

// A file inside an archive. Other files of the archive are not unpacked.
struct ArchivedFile {
  std::string path;       // in the archive, and below the folder of the data set
  int64_t bytes = 0;      // the exact size; of an optional file the largest
  bool optional = false;  // it may be missing
};

struct RemoteFile {
  std::string name;
  std::vector<std::string> addresses;  // the official one first, then mirrors
  int64_t bytes = 0;
  std::string sha256;                  // in hexadecimal, like md5
  std::string md5;                     // checked too; empty when none is published
  std::vector<ArchivedFile> contents;  // of a compressed tar archive; empty: no archive
};

struct RemoteDataset {
  std::string name;
  std::string licence;
  std::string homepage;
  std::vector<RemoteFile> files;
  std::string subfolder;  // to which the archive unpacks; empty: no archive
  std::string packaged;   // where a Debian package puts the same files; empty: none does
};

int64_t download_bytes(const RemoteDataset& dataset);

}  // namespace pando::fetch
