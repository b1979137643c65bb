// SPDX-License-Identifier: MIT
#include "pando/fetch/folder_lock.h"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::fetch {

FolderLock::FolderLock(const std::string& folder, const std::function<void()>& while_waiting)
    : path_(folder + "/.lock") {
  while (true) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      throw IoError("cannot write into '", folder, "': ", std::generic_category().message(errno),
                    "; choose another folder with --folder");
    }
    try {
      while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        while_waiting();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
    if (is_current()) return;
    ::close(descriptor_);
  }
}

// Checks that the previous holder has not removed the file: a lock on a removed file is worth
// nothing.
bool FolderLock::is_current() const {
  struct stat held = {};
  struct stat named = {};
  return ::fstat(descriptor_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

FolderLock::~FolderLock() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace pando::fetch
