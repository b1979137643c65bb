// Questions about paths. The answer is no, not an exception, if a path cannot be followed: a loop
// of symbolic links, a name that is too long, a folder without permission.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
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

// True for the name of a file in a folder or in folders of it: relative, without "..".
inline bool stays_inside(const std::string& name) {
  if (name.empty() || name.find_first_of(std::string_view("\\\0", 2)) != std::string::npos) {
    return false;
  }
  const std::filesystem::path path(name);
  bool inside = !path.is_absolute();
  for (const auto& part : path) inside = inside && part != "..";
  return inside;
}

// Whether a file that a folder names really lies in it, after symbolic links are followed. A file
// of others must not make us read what is elsewhere.
inline bool lies_inside(const std::filesystem::path& folder, const std::string& name) {
  if (!stays_inside(name)) return false;
  std::error_code failure;
  const std::filesystem::path root =
      std::filesystem::weakly_canonical(folder.empty() ? "." : folder, failure);
  if (failure) return false;
  const std::filesystem::path file = std::filesystem::weakly_canonical(root / name, failure);
  if (failure) return false;
  const std::filesystem::path relative = file.lexically_relative(root);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace pando
