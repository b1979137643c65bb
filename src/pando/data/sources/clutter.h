// Finds the files of a data set and leaves out those that file managers and operating systems add.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::data {

// Whether a file or folder of this name belongs to no data set: names that begin with a dot (such
// as .DS_Store and ._photo.jpg), Thumbs.db, desktop.ini, __MACOSX and the like.
bool is_clutter(std::string_view name);

// The files in a folder and in the folders below it, sorted by path, without clutter. Links to
// folders are followed, except those that lead back to a folder around them. Throws IoError.
std::vector<std::string> files_below(const std::string& folder);
// The folders in a folder, sorted by name, without clutter. Throws IoError.
std::vector<std::string> folders_inside(const std::string& folder);

}  // namespace pando::data
