// The data of a page that was made for a browser.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "pando/base/json.h"

namespace pando::app {

inline Json data_of_page(const std::string& html) {
  const std::string begin = "id=\"data\">";
  const size_t from = html.find(begin);
  if (from == std::string::npos) {
    ADD_FAILURE() << "the page has no data";
    return {};
  }
  const size_t end = html.find("</script>", from);
  return Json::parse(html.substr(from + begin.size(), end - from - begin.size()));
}

}  // namespace pando::app
