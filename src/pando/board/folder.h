// An open folder. Everything below it is opened step by step from its descriptor, and symbolic
// links are never followed, so that no name leads out of it. Nothing is written.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pando::board {

// Tells whether a file is another one, or has another content, than when it was looked at before.
struct FileStamp {
  uint64_t device = 0;
  uint64_t number = 0;  // inode
  int64_t bytes = 0;
  int64_t nanoseconds = 0;  // of the last change

  bool operator==(const FileStamp&) const = default;
  // Whether the file is still the same one, perhaps with more in it.
  bool is_same_file(const FileStamp& other) const {
    return device == other.device && number == other.number;
  }
};

// Used by one thread.
class Folder {
 public:
  // Nothing if the folder is not there or may not be read. The path itself may be a link.
  static std::optional<Folder> open(const std::filesystem::path& path);
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&&) = delete;
  ~Folder();

  // A folder in it, or in folders of it: "a/b"; "." is itself. Nothing for a link, a file, "..", or
  // if it has vanished.
  std::optional<Folder> inside(const std::string& path) const;
  std::vector<std::string> folder_names() const;  // without hidden ones, in any order
  bool has_file(const char* name) const;          // a plain one
  std::optional<FileStamp> stamp_of(const char* name) const;
  // Whether a process holds the lock of the folder (base/folder_lock.h); no value if unknown.
  std::optional<bool> is_locked() const;

  struct Part {
    FileStamp stamp;
    std::string text;
  };
  // The bytes of a plain file from an offset on. Returns nothing if the file does not exist, is not
  // a plain file or has more than `most` bytes.
  std::optional<Part> read(const char* name, int64_t offset, int64_t most) const;

 private:
  explicit Folder(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace pando::board
