// SPDX-License-Identifier: MIT
#include "pando/launch/host_name.h"

#include <array>

#include <unistd.h>

namespace pando::launch {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace pando::launch
