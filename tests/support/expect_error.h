// Helpers for tests of error messages.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando::testing_support {

// The message of the error that `call` throws; fails the test if it throws nothing or another kind
// of error.
template <typename ErrorType = InvalidArgument, typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const ErrorType& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "expected another kind of error, got: " << error.what();
    return "";
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

inline bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

inline testing::AssertionResult says_all(const std::string& message,
                                         std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) {
    if (!says(message, part)) {
      return testing::AssertionFailure() << "expected '" << part << "' in: " << message;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace pando::testing_support

// Expects that the message contains every part: EXPECT_SAYS(message, "--flag", "0 workers").
// NOLINTNEXTLINE(readability-identifier-naming): reads like GoogleTest's own
#define EXPECT_SAYS(message, ...) \
  EXPECT_TRUE(::pando::testing_support::says_all(message, {__VA_ARGS__}))
