// A file that grows by whole records: what a full disk cuts off is taken back.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace pando::app {

// Owns the open file. Used by one thread. A record is one write, without a buffer of our own, so
// that it survives the end of the process. Errors are IoError with path and reason; after one the
// file holds the records before.
class AppendFile {
 public:
  // Makes the file, or empties it; with `keep` what it holds stays in front.
  explicit AppendFile(std::filesystem::path path, bool keep = false);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view record) { replace_tail({}, record); }

  // Replaces the last bytes, which are `old_tail`, by `record`.
  void replace_tail(std::string_view old_tail, std::string_view record);

  // Gives the file another name, replacing what has it.
  void move_to(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace pando::app
