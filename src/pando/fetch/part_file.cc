// SPDX-License-Identifier: MIT
#include "pando/fetch/part_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/new_file.h"

namespace pando::fetch {

PartFile::PartFile(std::string target) : target_(std::move(target)), path_(target_ + ".part") {
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("opening", errno);
  const off_t end = ::lseek(descriptor_, 0, SEEK_END);
  if (end < 0) {
    const int reason = errno;
    ::close(descriptor_);  // the destructor does not run if the constructor throws
    fail("finding its end", reason);
  }
  bytes_ = end;
}

PartFile::~PartFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void PartFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("writing", errno);
    bytes_ += done;
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
}

void PartFile::restart() {
  if (::ftruncate(descriptor_, 0) != 0) fail("emptying", errno);
  bytes_ = 0;
}

void PartFile::commit() {
  if (::fsync(descriptor_) != 0) fail("flushing", errno);
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail("renaming", errno);
  const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
  const int error = flush_directory(folder.empty() ? "." : folder.string());
  if (error != 0) fail("flushing the folder", error);
}

void PartFile::discard() {
  if (::unlink(path_.c_str()) != 0) fail("removing", errno);
}

void PartFile::fail(const char* what, int error) const {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw IoError("cannot write '", path_, "': ", what, ": ", std::generic_category().message(error),
                is_full ? concat("; the ", bytes_,
                                 " bytes received so far are kept: free some space and fetch again")
                        : "");
}

}  // namespace pando::fetch
