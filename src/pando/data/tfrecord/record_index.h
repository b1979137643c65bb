// The places of records in files: found by one pass over the headers and kept in a separate file,
// so that opening the same files again only checks the size and time of each.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/data/bad_records.h"
#include "pando/data/tfrecord/record_file.h"

namespace pando::data {

// The records of one file up to its end or to the first header that is bad.
struct FileIndex {
  std::vector<uint64_t> lengths;  // of the payloads; the records follow one another
  std::optional<BadRecord> bad;

  bool operator==(const FileIndex&) const = default;
};

struct RecordIndexOptions {
  uint64_t most_record_bytes = kMostRecordBytes;
  int workers = 1;     // threads that read files
  std::string folder;  // where indices are kept; "" keeps none
};

// The index of every file, in their order. A kept index holds the paths, sizes and modification
// times of its files; one that does not fit, is damaged or cannot be written is ignored. The index
// of a damaged file is never kept. Changes that leave path, size and time the same are still found
// by the crcs of the records. Throws IoError when a file is missing or compressed.
std::vector<FileIndex> index_records(const std::vector<std::string>& paths,
                                     const RecordIndexOptions& options);

// The file in `folder` that keeps the index of these files: "<hash of their full paths>.index".
std::string index_path(const std::string& folder, const std::vector<std::string>& paths);

}  // namespace pando::data
