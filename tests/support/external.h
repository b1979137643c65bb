// Tests that need software or data which may not be installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

namespace pando::testing_support {

// With PANDO_EXTERNAL=1 nothing external may be missing.
inline bool requires_external() {
  const char* value = std::getenv("PANDO_EXTERNAL");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace pando::testing_support

// Ends the test: a skip or, with PANDO_EXTERNAL=1, a failure.
#define SKIP_WITHOUT(what)                                                            \
  do {                                                                                \
    if (pando::testing_support::requires_external()) FAIL() << what << " is missing"; \
    GTEST_SKIP() << what << " is missing";                                            \
  } while (false)
