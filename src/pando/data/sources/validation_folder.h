// The folder of validation data beside the folder train, under any of its usual names.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>

#include "pando/base/paths.h"

namespace pando::data {

// The names, in the order of the search.
inline constexpr std::array<const char*, 3> kValidationFolders = {"validation", "val", "test"};
inline constexpr const char* kValidationFolderNames = "validation, val or test";  // for messages

// Empty if there is none.
inline std::filesystem::path find_validation_folder(const std::filesystem::path& folder) {
  for (const char* name : kValidationFolders) {
    if (is_folder(folder / name)) return folder / name;
  }
  return {};
}

}  // namespace pando::data
