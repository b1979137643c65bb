// A file that appears under its name only when it is complete: a reader, even after a crash, finds
// the old bytes or the new ones, never a part of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pando {

// Writes to a temporary file in the same directory until commit(); without commit() the temporary
// file is removed. Keeps the permissions of a file that it replaces and follows a symbolic link.
// Temporary files that killed processes left in the directory are removed, once per process.
// All methods throw IoError with the path and the reason. One thread at a time.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::span<const uint8_t> bytes) { write(std::as_bytes(bytes)); }
  // Flushes the file to the disk, then renames it.
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

// Writes a whole file.
void write_new_file(const std::string& path, std::span<const std::byte> bytes);
// Writes a text file, with a line break after every line.
void write_lines(const std::string& path, const std::vector<std::string>& lines);

// Tries to write a file, without changing it: throws IoError if its directory does not exist or
// nothing can be created there. Only asks for permission to write to devices and pipes.
void check_can_write(const std::string& path);

// Flushes the names in a directory to the disk; without this a power cut can undo the last rename.
// Returns 0 or the errno of the failure; a directory that cannot be opened or does not support
// flushing counts as success.
int flush_directory(const std::string& directory);

}  // namespace pando
