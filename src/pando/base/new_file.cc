// SPDX-License-Identifier: MIT
#include "pando/base/new_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/temporary_file.h"

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
  if (!replaces && errno == ENAMETOOLONG) fail("looking for it", errno);
  // Renaming over a device such as /dev/null would remove it.
  if (replaces && !S_ISREG(old.st_mode)) {
    throw IoError("cannot write '", path, "': it exists and is not a regular file");
  }
  create();
  if (replaces && ::fchmod(descriptor_, old.st_mode & 07777) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());  // the destructor does not run if the constructor throws
    ::close(descriptor_);
    fail("setting permissions", reason);
  }
}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void NewFile::create() {
  TemporaryFile file = create_temporary(directory_);
  if (file.descriptor < 0) {
    fail(concat("creating a file in directory '", directory_, "'"), file.error);
  }
  descriptor_ = file.descriptor;
  temporary_ = std::move(file.path);
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
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("renaming", errno);
  temporary_.clear();
  // Closed after renaming, because a closed temporary file counts as left over. An error of close()
  // says nothing new after fsync().
  ::close(descriptor_);
  descriptor_ = -1;
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

void check_can_write(const std::string& path) {
  struct stat found = {};
  const bool in_place = ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
  if (!in_place || S_ISDIR(found.st_mode)) {
    const NewFile attempt(path);
  } else if (::access(path.c_str(), W_OK) != 0) {
    throw IoError("cannot write '", path, "': ", std::generic_category().message(errno));
  }
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  const std::string text = join(lines, "\n") + "\n";
  write_new_file(path, std::as_bytes(std::span(text)));
}

}  // namespace pando
