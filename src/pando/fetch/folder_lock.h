// Keeps two fetches of one data set apart, also those of different processes.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

namespace pando::fetch {

// Holds a lock on the file .lock of `folder`, which exists, as long as it lives. Where the file
// system has no locks it holds none.
class FolderLock {
 public:
  // Waits while another holds it; calls `while_waiting` about ten times per second, which may throw
  // to give up. Throws IoError when the folder cannot be written.
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
