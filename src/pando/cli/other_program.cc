// SPDX-License-Identifier: MIT
#include "pando/cli/other_program.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <unistd.h>

#include "pando/base/error.h"

namespace pando::cli {
namespace {

std::vector<std::filesystem::path> places_of(const std::string& name) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = own.parent_path();
  return {folder / name, folder.parent_path() / "libexec/pando" / name};
}

}  // namespace

[[noreturn]] void start_other_program(const OtherProgram& program,
                                      std::span<const std::string> args) {
  for (const std::filesystem::path& place : places_of(program.name)) {
    if (::access(place.c_str(), X_OK) != 0) continue;
    std::vector<std::string> words = {place.string()};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(place.c_str(), arguments.data());
    throw IoError("cannot start '", place.string(), "': ", std::strerror(errno));
  }
  throw IoError(program.what, " is not built: there is no '", places_of(program.name)[0].string(),
                "'; run './pando build ", program.target,
                "' in the sources, or install the package ", program.name);
}

}  // namespace pando::cli
