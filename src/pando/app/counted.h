// A number with its noun, for people.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pando/base/strings.h"

namespace pando::app {

// "1 sample", "2 samples".
inline std::string counted(int64_t count, std::string_view word) {
  return concat(count, " ", word, count == 1 ? "" : "s");
}

}  // namespace pando::app
