// SPDX-License-Identifier: MIT
#include "pando/app/record/append_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::app {
namespace {

// Returns zero or the error number.
int write_all(int descriptor, std::string_view text, int64_t offset) {
  while (!text.empty()) {
    const ssize_t written = pwrite(descriptor, text.data(), text.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return 0;
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path, bool keep) : path_(std::move(path)) {
  const int how = O_WRONLY | O_CREAT | O_CLOEXEC | (keep ? 0 : O_TRUNC);
  descriptor_ = open(path_.c_str(), how, 0666);
  if (descriptor_ < 0) {
    throw IoError(path_.string(), ": cannot be opened for writing: ", std::strerror(errno));
  }
  size_ = lseek(descriptor_, 0, SEEK_END);
}

AppendFile::~AppendFile() { close(descriptor_); }

void AppendFile::replace_tail(std::string_view old_tail, std::string_view record) {
  const int64_t offset = size_ - static_cast<int64_t>(old_tail.size());
  PANDO_CHECK(offset >= 0, path_.string());
  const int error = write_all(descriptor_, record, offset);
  if (error == 0) {
    size_ = offset + static_cast<int64_t>(record.size());
    return;
  }
  // Restoring the old tail needs no new space on the disk, because the file had these bytes before.
  write_all(descriptor_, old_tail, offset);
  if (ftruncate(descriptor_, size_) != 0 && errno != EINVAL) {
    throw IoError(path_.string(), ": writing failed: ", std::strerror(error),
                  ", and the file cannot be shortened: ", std::strerror(errno));
  }
  throw IoError(path_.string(), ": writing failed: ", std::strerror(error));
}

}  // namespace pando::app
