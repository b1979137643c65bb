// SPDX-License-Identifier: MIT
#include "pando/board/folder.h"

#include <cerrno>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pando/base/folder_lock.h"
#include "pando/base/strings.h"

namespace pando::board {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
// Does not wait for the other end of a pipe.
constexpr int kFileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

FileStamp stamp_from(const struct stat& status) {
  return {.device = status.st_dev,
          .number = status.st_ino,
          .bytes = status.st_size,
          .nanoseconds = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

// Closes a descriptor at the end of its scope.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

// Reads up to `bytes`; less at the end of the file or if it cannot be read.
std::string read_from(int descriptor, int64_t offset, int64_t bytes) {
  std::string text(static_cast<size_t>(bytes), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t count = ::pread(descriptor, text.data() + filled, text.size() - filled,
                                  offset + static_cast<int64_t>(filled));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    filled += static_cast<size_t>(count);
  }
  text.resize(filled);
  return text;
}

// File systems that do not tell the kind of an entry are asked for its status.
bool is_folder_entry(int folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat status = {};
  return ::fstatat(folder, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

}  // namespace

std::optional<Folder> Folder::open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), kFolderFlags);
  if (descriptor < 0) return std::nullopt;
  return Folder(descriptor);
}

Folder::Folder(Folder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Folder::~Folder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<Folder> Folder::inside(const std::string& path) const {
  const int own = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return std::nullopt;
  Folder folder(own);
  if (path == ".") return folder;
  for (const std::string& name : split(path, '/')) {
    if (name.empty() || name == "." || name == "..") return std::nullopt;
    const int next = ::openat(folder.descriptor_, name.c_str(), kFolderFlags | O_NOFOLLOW);
    if (next < 0) return std::nullopt;
    ::close(std::exchange(folder.descriptor_, next));
  }
  return folder;
}

std::vector<std::string> Folder::folder_names() const {
  std::vector<std::string> names;
  const int own = ::openat(descriptor_, ".", kFolderFlags);  // with a position of its own
  if (own < 0) return names;
  DIR* listing = ::fdopendir(own);
  if (listing == nullptr) {
    ::close(own);
    return names;
  }
  while (const dirent* entry = ::readdir(listing)) {
    if (entry->d_name[0] != '.' && is_folder_entry(own, *entry)) names.emplace_back(entry->d_name);
  }
  ::closedir(listing);
  return names;
}

std::optional<FileStamp> Folder::stamp_of(const char* name) const {
  struct stat status = {};
  if (::fstatat(descriptor_, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return stamp_from(status);
}

bool Folder::has_file(const char* name) const { return stamp_of(name).has_value(); }

std::optional<bool> Folder::is_locked() const { return is_lock_held(descriptor_); }

std::optional<Folder::Part> Folder::read(const char* name, int64_t offset, int64_t most) const {
  const OpenFile file(::openat(descriptor_, name, kFileFlags));
  struct stat status = {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || status.st_size - offset > most) return std::nullopt;
  Part part{.stamp = stamp_from(status), .text = {}};
  if (status.st_size > offset) {
    part.text = read_from(file.descriptor(), offset, status.st_size - offset);
  }
  return part;
}

}  // namespace pando::board
