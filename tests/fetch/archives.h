// Archives made by make_tar.py.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "pando/base/strings.h"

namespace pando::fetch {

inline std::string make_tar(const std::string& path, const std::vector<std::string>& entries) {
  std::string command =
      PANDO_PYTHON " '" PANDO_SOURCE_DIR "/tests/fetch/make_tar.py' '" + path + "'";
  for (const std::string& one : entries) command += concat(" '", one, "'");
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
  return path;
}

}  // namespace pando::fetch
