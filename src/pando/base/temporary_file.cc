// SPDX-License-Identifier: MIT
#include "pando/base/temporary_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/strings.h"

namespace pando {
namespace {

constexpr std::string_view kBegin = ".pando-";
constexpr std::string_view kEnd = ".tmp";

// Whether the name is `.pando-<digits>-<digits>.tmp`.
bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return false;
  name.remove_prefix(kBegin.size());
  name.remove_suffix(kEnd.size());
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos || dash == 0 || dash + 1 == name.size()) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return std::ranges::all_of(name.substr(0, dash), is_digit) &&
         std::ranges::all_of(name.substr(dash + 1), is_digit);
}

bool is_named(int descriptor, const std::string& path) {
  struct stat open = {};
  struct stat named = {};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

// A lock ends with its process, even if the process is killed, and machines that share the file
// system see the lock. A process number would not do: the system reuses numbers, and each machine
// has its own.
void remove_if_left(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat found = {};
  const bool ours =
      ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
  if (ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_named(descriptor, path)) {
    ::unlink(path.c_str());
  }
  ::close(descriptor);
}

void sweep_once(const std::string& directory) {
  static std::mutex mutex;
  static std::set<std::string> swept;
  {
    const std::lock_guard lock(mutex);
    if (!swept.insert(directory).second) return;
  }
  sweep_temporaries(directory);
}

// Whether the file is locked and still there. A sweep may have met it before its lock.
bool is_locked_in_time(const TemporaryFile& file) {
  if (::flock(file.descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return is_named(file.descriptor, file.path);
}

}  // namespace

// The name is short, so that a target with the longest permitted name works; O_EXCL keeps
// concurrent writers apart.
TemporaryFile create_temporary(const std::string& directory) {
  sweep_once(directory);
  for (int number = 0;; ++number) {
    TemporaryFile file{.path = concat(directory, "/", kBegin, ::getpid(), "-", number, kEnd)};
    file.descriptor = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor < 0 && errno == EEXIST) continue;
    if (file.descriptor < 0) {
      file.error = errno;
      return file;
    }
    if (is_locked_in_time(file)) return file;
    ::close(file.descriptor);
  }
}

void sweep_temporaries(const std::string& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (is_temporary_name(entry->path().filename().string())) remove_if_left(path);
  }
}

}  // namespace pando
