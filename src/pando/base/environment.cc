// SPDX-License-Identifier: MIT
#include "pando/base/environment.h"

#include <cstdlib>

namespace pando {

std::optional<std::string> find_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string environment(const std::string& name) { return find_variable(name).value_or(""); }

std::string cache_folder(const std::string& kind) {
  const std::string cache = environment("XDG_CACHE_HOME");
  if (cache.starts_with('/')) return cache + "/pando/" + kind;
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.cache/pando/" + kind;
}

}  // namespace pando
