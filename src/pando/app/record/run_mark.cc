// SPDX-License-Identifier: MIT
#include "pando/app/record/run_mark.h"

#include <fstream>
#include <random>

#include <fmt/core.h>

#include "pando/base/strings.h"
#include "pando/store/atomic_file.h"

namespace pando::app {

std::string new_run_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

RunMark mark_in(const std::filesystem::path& folder, const char* name) {
  RunMark mark;
  std::ifstream file(folder / name);
  std::getline(file, mark.id);
  std::getline(file, mark.directory);
  return mark;
}

void write_mark(const std::filesystem::path& folder, const RunMark& mark, const char* name) {
  const std::string text = concat(mark.id, "\n", mark.directory, "\n");
  store::replace_file((folder / name).string(), {std::as_bytes(std::span(text))});
}

bool are_of_different_runs(const std::filesystem::path& one, const std::filesystem::path& other) {
  const std::string first = mark_in(one).id;
  const std::string second = mark_in(other).id;
  return !first.empty() && !second.empty() && first != second;
}

}  // namespace pando::app
