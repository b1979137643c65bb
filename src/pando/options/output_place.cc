// SPDX-License-Identifier: MIT
#include "pando/options/output_place.h"

#include <filesystem>

#include "pando/base/new_file.h"
#include "pando/base/paths.h"
#include "pando/options/usage_error.h"

namespace pando {

void check_output_file(const std::string& flag, const std::string& path) {
  if (is_folder(path)) {
    throw UsageError(flag, ": expected a file, got the folder '", path, "'; use another path");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !is_folder(folder)) {
    throw UsageError(flag, ": the folder '", folder.string(),
                     "' does not exist; create it, or use another path");
  }
  try {
    const NewFile attempt(path);
  } catch (const IoError& error) {
    throw UsageError(flag, ": ", error.what(), "; use another path");
  }
}

void make_output_folder(const std::string& flag, const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    throw UsageError(flag, ": cannot make the folder '", path, "': ", error.message(),
                     "; use another path");
  }
}

}  // namespace pando
