// SPDX-License-Identifier: MIT
#include "pando/benchmark/valid_text.h"

#include "pando/base/json.h"

namespace pando::benchmark {

// Writing JSON does just this.
std::string valid_utf8(const std::string& text) {
  return Json::parse(Json(text).dump()).get<std::string>();
}

}  // namespace pando::benchmark
