// SPDX-License-Identifier: MIT
#include "pando/app/run/export_version.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/base/new_file.h"
#include "pando/base/paths.h"

namespace pando::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".tmp-";  // servers ignore names that are not numbers

std::vector<std::string> names_in(const std::string& folder) {
  std::error_code failure;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    names.push_back(at->path().filename().string());
  }
  if (failure) throw IoError("--export-dir: cannot read '", folder, "': ", failure.message());
  return names;
}

// Folders that killed exports left a day ago or earlier.
void remove_unfinished(const std::string& base) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(24);
  for (const std::string& name : names_in(base)) {
    const fs::path path = fs::path(base) / name;
    std::error_code ignored;
    if (name.starts_with(kUnfinished) && fs::last_write_time(path, ignored) < old && !ignored) {
      fs::remove_all(path, ignored);
    }
  }
}

int64_t next_version(const std::string& base) {
  int64_t newest = 0;
  for (const std::string& name : names_in(base)) {
    newest = std::max(newest, version_number(name).value_or(0));
  }
  if (newest == std::numeric_limits<int64_t>::max()) {
    throw UsageError("--model-version: '", base, "' has version ", newest,
                     " already, and there is no larger one; choose a number");
  }
  return newest + 1;
}

// A folder with a hidden name, removed unless it gets its number.
class UnfinishedVersion {
 public:
  // Takes no folder that is there: processes of other containers may have the same number.
  explicit UnfinishedVersion(const std::string& base) {
    for (int number = 0; path_.empty(); ++number) {
      const fs::path path = fs::path(base) / concat(kUnfinished, ::getpid(), "-", number);
      std::error_code failure;
      if (fs::create_directory(path, failure)) path_ = path;
      if (failure) throw IoError("cannot create '", path.string(), "': ", failure.message());
    }
  }
  ~UnfinishedVersion() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  UnfinishedVersion(const UnfinishedVersion&) = delete;
  UnfinishedVersion& operator=(const UnfinishedVersion&) = delete;

  std::string file() const { return (path_ / "model.onnx").string(); }
  std::string folder() const { return path_.string(); }
  // False: there is something of this name.
  bool rename_to(const fs::path& target) {
    flush_directory(path_.string());
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) != 0) {
      const int error = errno;
      if (error == EEXIST || error == ENOTEMPTY) return false;
      // File systems without RENAME_NOREPLACE still refuse folders that are not empty.
      const bool can_try = error == EINVAL || error == ENOSYS;
      if (can_try && path_exists(target)) return false;
      if (!can_try || ::rename(path_.c_str(), target.c_str()) != 0) {
        throw IoError("cannot rename '", path_.string(), "' to '", target.string(),
                      "': ", std::strerror(can_try ? errno : error));
      }
    }
    path_.clear();
    flush_directory(target.parent_path().string());
    return true;
  }

 private:
  fs::path path_;
};

}  // namespace

std::optional<int64_t> version_number(const std::string& name) {
  const bool begins_well = !name.empty() && name[0] >= '0' && name[0] <= '9';
  return begins_well ? parse_int(name) : std::nullopt;
}

void check_export_dir(const std::string& base) {
  if (base.empty()) throw UsageError("--export-dir: expected a folder, got ''");
  if (!path_exists(base)) return;
  if (!is_folder(base)) {
    throw UsageError("--export-dir: '", base, "' is a file; expected a folder of versions");
  }
  bool has_versions = false;
  std::string other;
  for (const std::string& name : names_in(base)) {
    has_versions = has_versions || version_number(name).has_value();
    if (!name.starts_with('.')) other = name;
  }
  if (has_versions || other.empty()) return;
  throw UsageError("--export-dir: '", base, "' is not empty and has no versions, but '", other,
                   "'; expected a new or an empty folder, or one with numbered folders");
}

std::string export_version(const Model& model, const VersionExport& what) {
  check_export_dir(what.base);
  std::error_code failure;
  fs::create_directories(what.base, failure);
  if (failure) {
    throw IoError("--export-dir: cannot create '", what.base, "': ", failure.message());
  }
  const auto refuse_taken = [&](int64_t version) {
    throw UsageError("--model-version: '", what.base, "' has version ", version,
                     " already; use another number, or leave the flag out for the next free one");
  };
  if (what.version > 0 && path_exists(fs::path(what.base) / std::to_string(what.version))) {
    refuse_taken(what.version);
  }
  remove_unfinished(what.base);
  UnfinishedVersion unfinished(what.base);
  save_model(model, unfinished.file(), what.save);
  write_examples(unfinished.folder(), what.examples);
  while (true) {
    const int64_t version = what.version > 0 ? what.version : next_version(what.base);
    const fs::path target = fs::path(what.base) / std::to_string(version);
    if (unfinished.rename_to(target)) return (target / "model.onnx").string();
    if (what.version > 0) refuse_taken(version);  // another export was faster
  }
}

}  // namespace pando::app
