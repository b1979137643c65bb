// Keeps two fetches of one data set from running at the same time, also in different processes.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

namespace pando::fetch {

// Holds a lock on the file .lock of `folder`, which must exist, as long as it lives. Holds no lock
// if the file system does not support locks.
class FolderLock {
 public:
  // Waits while another object or process holds the lock; calls `while_waiting` about ten times per
  // second, which may throw to give up. Throws IoError if the folder cannot be written.
  FolderLock(const std::string& folder, const std::function<void()>& while_waiting);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  bool is_current() const;

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace pando::fetch
