// SPDX-License-Identifier: MIT
#include "pando/store/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando::store {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw IoError("cannot write '", path, "': ", what, ": ", std::generic_category().message(error));
}

// The new file until it has its final name; removes it when that does not come about.
class NewFile {
 public:
  NewFile(const std::string& target, const std::string& directory) : target_(target) {
    // Short names, so that a target of the longest permitted name works; O_EXCL keeps writers
    // apart.
    for (int attempt = 0; descriptor_ < 0; ++attempt) {
      path_ = concat(directory, "/.pando-", ::getpid(), "-", attempt, ".tmp");
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && errno != EEXIST) {
        fail(target_, concat("creating a file in directory '", directory, "'"), errno);
      }
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  void set_mode(mode_t mode) {
    if (::fchmod(descriptor_, mode) != 0) fail(target_, "setting permissions", errno);
  }

  void write(std::span<const std::byte> bytes) {
    constexpr size_t kLargestWrite = size_t{1} << 30;  // Linux refuses to write 2 GiB at once
    while (!bytes.empty()) {
      const ssize_t done =
          ::write(descriptor_, bytes.data(), std::min(bytes.size(), kLargestWrite));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail(target_, "writing", errno);
      bytes = bytes.subspan(static_cast<size_t>(done));
    }
  }

  void rename_to(const std::string& final_path) {
    if (::fsync(descriptor_) != 0) fail(target_, "flushing", errno);
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) fail(target_, "closing", errno);
    if (::rename(path_.c_str(), final_path.c_str()) != 0) fail(target_, "renaming", errno);
    path_.clear();
  }

 private:
  std::string target_;
  std::string path_;
  int descriptor_ = -1;
};

// The name must reach the disk too, or a power cut brings the old file back.
void flush_directory(const std::string& path, const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a directory that may be written but not read
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some network file systems cannot flush a directory and say so with EINVAL.
  if (error != 0 && error != EINVAL) fail(path, "flushing the directory", error);
}

}  // namespace

void replace_file(const std::string& path,
                  std::initializer_list<std::span<const std::byte>> pieces) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_link = fs::is_symlink(fs::symlink_status(path, error));
  const fs::path target = is_link ? fs::weakly_canonical(path, error) : fs::path(path);
  if (error && is_link) fail(path, "following the symbolic link", error.value());
  if (target.filename().empty()) throw IoError("cannot write '", path, "': not the name of a file");

  struct stat old = {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  // Renaming over a device such as /dev/null would remove it.
  if (replaces && !S_ISREG(old.st_mode)) {
    throw IoError("cannot write '", path, "': it exists and is not a regular file");
  }
  const std::string directory = target.has_parent_path() ? target.parent_path().string() : ".";
  NewFile file(path, directory);
  if (replaces) file.set_mode(old.st_mode & 07777);
  for (const auto& piece : pieces) file.write(piece);
  file.rename_to(target.string());
  flush_directory(path, directory);
}

}  // namespace pando::store
