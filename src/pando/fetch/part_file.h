// A file that is still coming: NAME.part beside NAME until all of it is there, so that a later
// fetch goes on where this one ended.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pando::fetch {

// Opens or makes `target`.part and leaves it where it is at the end, unless commit() or discard()
// was called. All methods throw IoError with the path and the reason. One thread at a time.
class PartFile {
 public:
  explicit PartFile(std::string target);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }

  void append(std::span<const std::byte> bytes);
  // Forgets what is there.
  void restart();
  // Flushes to the disk, then gives it the name of the target.
  void commit();
  // Removes it.
  void discard();

 private:
  [[noreturn]] void fail(const char* what, int error) const;

  std::string target_;
  std::string path_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace pando::fetch
