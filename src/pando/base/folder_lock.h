// Keeps two users of a folder, also in different processes, from working in it at the same time.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace pando {

struct FolderLockOptions {
  std::string folder;          // must exist
  std::string name = ".lock";  // of the file that is locked; users of other names do not conflict
  std::string remedy;          // the end of the message if the folder cannot be written
  // Called about ten times per second while another object or process holds the lock; may throw to
  // give up.
  std::function<void()> when_busy;
};

// Holds a lock on a file in the folder as long as it lives, then removes the file. The end of a
// process, however it ends, releases its locks. Holds no lock if the file system does not support
// locks.
class FolderLock {
 public:
  // Waits for the lock. Throws IoError if the folder cannot be written.
  explicit FolderLock(const FolderLockOptions& options);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  bool is_current() const;

  std::string path_;
  int descriptor_ = -1;
};

// Whether a process holds the lock of this name in an open folder. Writes nothing, and does not
// prevent other processes from taking the lock. No value: the file system cannot tell.
std::optional<bool> is_lock_held(int folder_descriptor, const char* name = ".lock");

}  // namespace pando
