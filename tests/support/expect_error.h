// The message of an error, for tests of what it says.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando::testing_support {

// What `call` throws; fails the test when it throws nothing or another kind of error.
template <typename ErrorType = InvalidArgument, typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an error of another kind: " << error.what();
    return "";
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

inline bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

}  // namespace pando::testing_support

// The message has the part in it.
// NOLINTNEXTLINE(readability-identifier-naming): reads like GoogleTest's own
#define EXPECT_SAYS(message, part) EXPECT_PRED2(::pando::testing_support::says, message, part)
