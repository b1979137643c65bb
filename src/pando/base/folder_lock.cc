// SPDX-License-Identifier: MIT
#include "pando/base/folder_lock.h"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando {
namespace {

constexpr std::chrono::milliseconds kInstant{1};
constexpr int kMostInstants = 200;

}  // namespace

FolderLock::FolderLock(const FolderLockOptions& options)
    : path_(concat(options.folder, "/", options.name)) {
  while (true) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      throw IoError("cannot write into '", options.folder,
                    "': ", std::generic_category().message(errno), "; ", options.remedy);
    }
    try {
      int instants = 0;
      while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (++instants <= kMostInstants) {  // for is_lock_held(), which has the lock for an instant
          std::this_thread::sleep_for(kInstant);
          continue;
        }
        options.when_busy();
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
  if (is_current()) ::unlink(path_.c_str());  // another folder may have this path now
  ::close(descriptor_);
}

std::optional<bool> is_lock_held(int folder_descriptor, const char* name) {
  const int descriptor =
      ::openat(folder_descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return errno == ENOENT ? std::optional(false) : std::nullopt;
  std::optional<bool> is_held;
  if (::flock(descriptor, LOCK_SH | LOCK_NB) == 0) {
    is_held = false;
  } else if (errno == EWOULDBLOCK) {
    is_held = true;
  }
  ::close(descriptor);
  return is_held;
}

}  // namespace pando
