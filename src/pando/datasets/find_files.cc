// SPDX-License-Identifier: MIT
#include "pando/datasets/find_files.h"

#include <filesystem>

#include "pando/base/environment.h"
#include "pando/fetch/folders.h"

namespace pando {

namespace {

namespace fs = std::filesystem;

// A folder that has, or may have, a folder for each data set.
struct Shelf {
  std::string folder;
  bool is_own = true;  // of `pando data fetch`, which leaves files of the right sizes or none
};

std::vector<Shelf> shelves(const std::string& folder) {
  if (!folder.empty()) return {{folder}};
  std::vector<Shelf> all;
  if (const auto own = fetch::find_default_folder()) all.push_back({*own});
  const std::string shared = environment("DATASETS_DIR");
  if (!shared.empty()) all.push_back({shared, false});
  return all;
}

std::vector<std::string> folders_on(const Shelf& shelf, const DatasetRecord& record) {
  std::vector<std::string> folders = {(fs::path(shelf.folder) / record.name).string()};
  for (const std::string& name : record.other_folders) {
    folders.push_back((fs::path(shelf.folder) / name).string());
  }
  return folders;
}

std::optional<std::string> find_on(const Shelf& shelf, const DatasetRecord& record) {
  if (shelf.is_own && record.remote) return fetch::find_fetched(*record.remote, shelf.folder);
  for (const std::string& folder : folders_on(shelf, record)) {
    if (record.holds(folder)) return folder;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> search_places(const DatasetRecord& record, const std::string& folder) {
  std::vector<std::string> places;
  if (record.holds == nullptr) return places;
  for (const Shelf& shelf : shelves(folder)) {
    for (std::string& place : folders_on(shelf, record)) places.push_back(std::move(place));
  }
  if (record.remote && !record.remote->packaged.empty()) places.push_back(record.remote->packaged);
  return places;
}

std::optional<std::string> find_files(const DatasetRecord& record, const std::string& folder) {
  if (record.holds == nullptr) return std::nullopt;
  for (const Shelf& shelf : shelves(folder)) {
    if (std::optional<std::string> found = find_on(shelf, record)) return found;
  }
  return record.remote ? fetch::find_packaged(*record.remote) : std::nullopt;
}

}  // namespace pando
