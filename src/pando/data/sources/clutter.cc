// SPDX-License-Identifier: MIT
#include "pando/data/sources/clutter.h"

#include <algorithm>
#include <array>

#include "pando/base/strings.h"

namespace pando::data {

namespace {

// In lower case: Windows does not distinguish them.
constexpr std::array<std::string_view, 10> kClutter = {
    "thumbs.db", "ehthumbs.db",  "ehthumbs_vista.db",         "desktop.ini", "icon\r", "__macosx",
    "@eadir",    "$recycle.bin", "system volume information", "lost+found"};

}  // namespace

bool is_clutter(std::string_view name) {
  return name.starts_with('.') || std::ranges::find(kClutter, to_lower(name)) != kClutter.end();
}

}  // namespace pando::data
