// The only user of libarchive. The checksum of the archive is verified before, so its bytes are
// those of the publisher; the checks below hold even if they were not.
// SPDX-License-Identifier: MIT
#include "pando/fetch/extract.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include <archive.h>
#include <archive_entry.h>

#include "pando/base/error.h"
#include "pando/base/new_file.h"
#include "pando/base/strings.h"
#include "pando/fetch/digest.h"

namespace pando::fetch {

namespace {

constexpr size_t kPiece = size_t{1} << 18;

class Extraction {
 public:
  Extraction(const std::string& path, const std::vector<ArchivedFile>& wanted,
             const std::string& folder)
      : path_(path),
        wanted_(wanted),
        folder_(folder),
        archive_(archive_read_new(), &archive_read_free) {
    PANDO_CHECK(archive_ != nullptr);
    archive_read_support_format_tar(archive_.get());
    archive_read_support_filter_gzip(archive_.get());
  }

  std::vector<ExtractedFile> run() {
    check(archive_read_open_filename(archive_.get(), path_.c_str(), kPiece));
    archive_entry* entry = nullptr;
    while (true) {
      const int code = archive_read_next_header(archive_.get(), &entry);
      if (code == ARCHIVE_EOF) break;
      check(code);
      take(entry);
    }
    for (const ArchivedFile& file : wanted_) {
      if (!file.optional && !was_taken(file.path)) {
        throw IoError(path_, ": does not contain ", file.path, "; fetch it again with --force");
      }
    }
    return std::move(taken_);
  }

 private:
  void check(int code) const {
    if (code == ARCHIVE_OK || code == ARCHIVE_WARN) return;
    const char* reason = archive_error_string(archive_.get());
    throw IoError(path_, ": cannot be unpacked: ", reason == nullptr ? "unknown" : reason,
                  "; fetch it again with --force");
  }

  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw IoError(path_, ": entry '", name, "' ", what, "; only regular files below the archive's ",
                  "own folder are accepted; nothing was unpacked");
  }

  // The name of the entry; throws if it does not stay below the folder.
  std::string checked_name(archive_entry* entry) const {
    const char* text = archive_entry_pathname(entry);
    std::string name = text == nullptr ? "" : text;
    if (name.empty()) fail(name, "has no name");
    if (name.front() == '/') fail(name, "has an absolute path");
    const std::vector<std::string> parts = split(name, '/');
    if (std::ranges::find(parts, "..") != parts.end()) fail(name, "has .. in its path");
    while (name.starts_with("./")) name.erase(0, 2);
    return name;
  }

  bool was_taken(const std::string& name) const {
    return std::ranges::find(taken_, name, &ExtractedFile::path) != taken_.end();
  }

  void take(archive_entry* entry) {
    const std::string name = checked_name(entry);
    const auto type = archive_entry_filetype(entry);
    if (archive_entry_hardlink(entry) != nullptr || type == AE_IFLNK) fail(name, "is a link");
    const auto file = std::ranges::find(wanted_, name, &ArchivedFile::path);
    if (file == wanted_.end()) return;
    if (type != AE_IFREG) fail(name, "is not a regular file");
    if (was_taken(name)) fail(name, "is in the archive twice");
    const int64_t bytes = archive_entry_size(entry);
    if (file->optional ? bytes > file->bytes : bytes != file->bytes) {
      fail(name, concat("has ", bytes, " bytes instead of ", file->optional ? "at most " : "",
                        file->bytes));
    }
    taken_.push_back({.path = name, .sha256 = write(name, bytes)});
  }

  // Returns the checksum. The data may have another size than the header says.
  std::string write(const std::string& name, int64_t bytes) {
    const std::filesystem::path target = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(target.parent_path());
    NewFile out(target.string());
    Digest digest(DigestKind::sha256);
    std::vector<std::byte> piece(kPiece);
    int64_t written = 0;
    while (true) {
      const la_ssize_t count = archive_read_data(archive_.get(), piece.data(), piece.size());
      if (count < 0) check(static_cast<int>(count));
      if (count <= 0) break;
      written += count;
      if (written > bytes) break;
      const auto some = std::span<const std::byte>(piece).first(static_cast<size_t>(count));
      out.write(some);
      digest.update(some);
    }
    if (written != bytes) fail(name, concat("does not have the ", bytes, " bytes it claims"));
    out.commit();
    return digest.finish();
  }

  const std::string& path_;
  const std::vector<ArchivedFile>& wanted_;
  const std::string& folder_;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_;
  std::vector<ExtractedFile> taken_;
};

}  // namespace

std::vector<ExtractedFile> extract(const std::string& archive,
                                   const std::vector<ArchivedFile>& wanted,
                                   const std::string& folder) {
  return Extraction(archive, wanted, folder).run();
}

}  // namespace pando::fetch
