// The scripts and styles of the pages, compiled in.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace pando::pages {

// The text of a file of this folder, by its name without folder: "dom.js". Requires: it is in the
// list of CMakeLists.txt.
std::string_view page_file(std::string_view name);

}  // namespace pando::pages
