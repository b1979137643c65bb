// SPDX-License-Identifier: MIT
#include "pando/fetch/folders.h"

#include <algorithm>
#include <filesystem>

#include "pando/base/environment.h"
#include "pando/base/error.h"

namespace pando::fetch {

namespace {

namespace fs = std::filesystem;

bool has_bytes(const fs::path& path, int64_t bytes) {
  std::error_code error;
  return fs::is_regular_file(path, error) &&
         fs::file_size(path, error) == static_cast<uintmax_t>(bytes) && !error;
}

bool is_there(const RemoteFile& file, const fs::path& folder) {
  if (file.contents.empty()) return has_bytes(folder / file.name, file.bytes);
  return std::ranges::all_of(file.contents, [&](const ArchivedFile& inner) {
    return inner.optional || has_bytes(folder / inner.path, inner.bytes);
  });
}

}  // namespace

std::optional<std::string> find_default_folder() {
  if (std::string own = environment("PANDO_DATA"); !own.empty()) return own;
  // The specification says that a relative XDG_DATA_HOME is to be ignored.
  const std::string shared = environment("XDG_DATA_HOME");
  if (shared.starts_with('/')) return shared + "/pando";
  const std::string home = environment("HOME");
  if (!home.empty()) return home + "/.local/share/pando";
  return std::nullopt;
}

std::string default_folder() {
  if (std::optional<std::string> found = find_default_folder()) return *found;
  throw InvalidArgument(
      "no place for data sets: PANDO_DATA, XDG_DATA_HOME and HOME are not set; set PANDO_DATA to a "
      "folder for them");
}

std::string other_folder_advice(const std::string& folder) {
  return folder.empty() ? "set PANDO_DATA to another folder"
                        : "choose another folder with --folder";
}

std::string dataset_folder(const RemoteDataset& entry, const std::string& folder) {
  return (fs::path(folder.empty() ? default_folder() : folder) / entry.name).string();
}

std::optional<std::string> find_fetched(const RemoteDataset& entry, const std::string& folder) {
  const fs::path place = dataset_folder(entry, folder);
  const bool whole = std::ranges::all_of(
      entry.files, [&](const RemoteFile& file) { return is_there(file, place); });
  if (!whole) return std::nullopt;
  return (entry.subfolder.empty() ? place : place / entry.subfolder).string();
}

// The package compresses the files again, so their sizes differ.
std::optional<std::string> find_packaged(const RemoteDataset& entry) {
  if (entry.packaged.empty()) return std::nullopt;
  const fs::path place = entry.packaged;
  std::error_code error;
  for (const RemoteFile& file : entry.files) {
    if (!fs::is_regular_file(place / file.name, error)) return std::nullopt;
  }
  return place.string();
}

void replace_folder(const std::string& made, const std::string& target, const std::string& aside) {
  std::error_code error;
  const bool replaces = fs::exists(target, error);
  if (replaces) fs::rename(target, aside, error);
  const bool moved = replaces && !error;
  if (!error) fs::rename(made, target, error);
  if (!error) return;
  std::error_code ignored;  // the first error is reported
  if (moved) fs::rename(aside, target, ignored);
  throw IoError("cannot rename to '", target, "': ", error.message());
}

}  // namespace pando::fetch
