// Names that file managers and operating systems leave beside people's files.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pando::data {

// Whether a file or folder of this name belongs to no data set: names that begin with a dot (such
// as .DS_Store and ._photo.jpg), Thumbs.db, desktop.ini, __MACOSX and the like.
bool is_clutter(std::string_view name);

}  // namespace pando::data
