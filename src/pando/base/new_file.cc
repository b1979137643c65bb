// SPDX-License-Identifier: MIT
#include "pando/base/new_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando {

namespace fs = std::filesystem;

NewFile::NewFile(const std::string& path) : path_(path) {
  std::error_code error;
  const bool is_link = fs::is_symlink(fs::symlink_status(path, error));
  const fs::path target = is_link ? fs::weakly_canonical(path, error) : fs::path(path);
  if (error && is_link) fail("following the symbolic link", error.value());
  if (target.filename().empty()) throw IoError("cannot write '", path, "': not a file name");
  target_ = target.string();
  directory_ = target.has_parent_path() ? target.parent_path().string() : ".";

  struct stat old = {};
  const bool replaces = ::stat(target_.c_str(), &old) == 0;
  // Renaming over a device such as /dev/null would remove it.
  if (replaces && !S_ISREG(old.st_mode)) {
    throw IoError("cannot write '", path, "': it exists and is not a regular file");
  }
  create();
  if (replaces && ::fchmod(descriptor_, old.st_mode & 07777) != 0) {
    const int reason = errno;
    ::close(descriptor_);  // the destructor does not run if the constructor throws
    ::unlink(temporary_.c_str());
    fail("setting permissions", reason);
  }
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

// The name is short, so that a target with the longest permitted name works; O_EXCL keeps
// concurrent writers apart.
void NewFile::create() {
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    const std::string name = concat(directory_, "/.pando-", ::getpid(), "-", attempt, ".tmp");
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) temporary_ = name;
    if (descriptor_ < 0 && errno != EEXIST) {
      fail(concat("creating a file in directory '", directory_, "'"), errno);
    }
  }
}

void NewFile::write(std::span<const std::byte> bytes) {
  constexpr size_t kLargestWrite = size_t{1} << 30;  // Linux refuses to write 2 GiB at once
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("writing", errno);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
}

void NewFile::commit() {
  if (::fsync(descriptor_) != 0) fail("flushing", errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail("closing", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("renaming", errno);
  temporary_.clear();
  if (const int error = flush_directory(directory_); error != 0) {
    fail("flushing the directory", error);
  }
}

void NewFile::fail(const std::string& what, int error) const {
  throw IoError("cannot write '", path_, "': ", what, ": ", std::generic_category().message(error));
}

int flush_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  return error == EINVAL ? 0 : error;
}

void write_new_file(const std::string& path, std::span<const std::byte> bytes) {
  NewFile file(path);
  file.write(bytes);
  file.commit();
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  const std::string text = join(lines, "\n") + "\n";
  write_new_file(path, std::as_bytes(std::span(text)));
}

}  // namespace pando
