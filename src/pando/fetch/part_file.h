// A file that is being downloaded: NAME.part beside NAME until it is complete, so that a later
// fetch resumes where this one ended.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pando::fetch {

// Opens or makes `target`.part and keeps it at the end, unless commit() or discard() was called.
// All methods throw IoError with the path and the reason. One thread at a time.
class PartFile {
 public:
  explicit PartFile(std::string target);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }

  void append(std::span<const std::byte> bytes);
  // Empties the file.
  void restart();
  // Flushes the file to the disk, then renames it to the target.
  void commit();
  // Removes the file.
  void discard();

 private:
  [[noreturn]] void fail(const char* what, int error) const;

  std::string target_;
  std::string path_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace pando::fetch
