// SPDX-License-Identifier: MIT
#include "pando/data/sources/clutter.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::data {

namespace {

// In lower case, because file names on Windows ignore case.
constexpr std::array<std::string_view, 10> kClutter = {
    "thumbs.db", "ehthumbs.db",  "ehthumbs_vista.db",         "desktop.ini", "icon\r", "__macosx",
    "@eadir",    "$recycle.bin", "system volume information", "lost+found"};

}  // namespace

bool is_clutter(std::string_view name) {
  return name.starts_with('.') || std::ranges::find(kClutter, to_lower(name)) != kClutter.end();
}

std::vector<std::string> files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> files;
  std::vector<fs::path> inside = {fs::canonical(folder, error)};  // the folders around an entry
  fs::recursive_directory_iterator at(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code unknown;  // reading the file reports the error
    inside.resize(static_cast<size_t>(at.depth()) + 1);
    if (is_clutter(at->path().filename().string())) {
      at.disable_recursion_pending();
    } else if (!at->is_directory(unknown)) {
      files.push_back(at->path().string());
    } else {
      // A link to a folder that it lies in leads around in a circle.
      const fs::path own = fs::canonical(at->path(), unknown);
      if (std::ranges::find(inside, own) != inside.end()) at.disable_recursion_pending();
      inside.push_back(own);
    }
  }
  if (error) throw IoError(folder, ": cannot list the folder: ", error.message());
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> folders_inside(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unknown;  // an entry that cannot be examined is not a folder of images
    const std::string name = at->path().filename().string();
    if (!is_clutter(name) && at->is_directory(unknown)) names.push_back(name);
  }
  if (error) throw IoError(folder, ": cannot list the folder: ", error.message());
  std::ranges::sort(names);
  return names;
}

}  // namespace pando::data
