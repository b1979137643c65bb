// Questions about paths whose answer is no, instead of an exception, if a path cannot be followed:
// a loop of symbolic links, a name that is too long, a folder without permission.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <system_error>

namespace pando {

inline bool path_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

inline bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

inline bool is_plain_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace pando
