// The data sets that Pando knows: where their files are, how large they are, which checksums are
// published, and how they are unpacked.
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

struct DatasetEntry {
  std::string name;
  std::string title;
  std::string licence;
  std::string homepage;
  int64_t train = 0;
  int64_t test = 0;
  std::string shape;
  int64_t classes = 0;
  std::vector<RemoteFile> files;
  std::string subfolder;  // to which the archive unpacks; empty: no archive
};

// The data sets that can be fetched.
const std::vector<DatasetEntry>& catalog();

// Throws InvalidArgument for an unknown name, and for a data set that users have to get from its
// owners.
const DatasetEntry& entry(const std::string& name);

int64_t download_bytes(const DatasetEntry& entry);

// Data sets that Pando reads and does not fetch.
struct OwnDataset {
  std::string name;
  std::string title;
  int64_t train = 0;  // 0: not known
  int64_t test = 0;
  std::string shape;
  int64_t classes = 0;  // 0: not known, or none
  std::string how;      // how to get it
};
const std::vector<OwnDataset>& own_datasets();

}  // namespace pando::fetch
