// A file that gets its name when it is whole: a reader, also after a crash, finds the old bytes or
// the new ones, never a part.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pando {

// Written to a file of another name in the same directory until commit(). Without commit() nothing
// of it stays. Keeps the permissions of a file that it replaces and follows a symbolic link. All
// methods throw IoError with the path and the reason. One thread at a time.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::span<const uint8_t> bytes) { write(std::as_bytes(bytes)); }
  // Flushes to the disk, then renames.
  void commit();

 private:
  void create();
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;  // as given, for errors
  std::string target_;
  std::string directory_;
  std::string temporary_;
  int descriptor_ = -1;
};

// A whole file at once.
void write_new_file(const std::string& path, std::span<const std::byte> bytes);
// A text file, with a line break after every line.
void write_lines(const std::string& path, const std::vector<std::string>& lines);

// The names in a directory reach the disk too, or a power cut takes the last renaming back. 0, or
// the errno of what failed; nothing fails where directories cannot be read or flushed.
int flush_directory(const std::string& directory);

}  // namespace pando
