// A file that grows by whole records: if a write fails, for example on a full disk, the partial
// record is removed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace pando::app {

// Owns the open file. Used by one thread. Each record is written at once, without a buffer in this
// process, so that it survives a crash of the process. Throws IoError with path and reason; the
// file then still has all earlier records.
class AppendFile {
 public:
  // Creates the file or empties it; with `keep` its content stays and records are added after it.
  explicit AppendFile(std::filesystem::path path, bool keep = false);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view record) { replace_tail({}, record); }

  // Replaces the last bytes, which are `old_tail`, by `record`.
  void replace_tail(std::string_view old_tail, std::string_view record);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace pando::app
