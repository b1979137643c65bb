#include "pando/serve/status.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::serve {
namespace {

TEST(Status, HasTheNumbersOfGrpcAndTheStatusOfHttp) {
  EXPECT_EQ(static_cast<int>(Code::not_found), 5);
  EXPECT_EQ(static_cast<int>(Code::resource_exhausted), 8);
  EXPECT_EQ(static_cast<int>(Code::unavailable), 14);
  EXPECT_EQ(static_cast<int>(Code::unauthenticated), 16);
  EXPECT_EQ(to_string(Code::not_found), "NOT_FOUND");
  EXPECT_EQ(http_status(Code::ok), 200);
  EXPECT_EQ(http_status(Code::not_found), 404);
  EXPECT_EQ(http_status(Code::resource_exhausted), 429);
  EXPECT_EQ(http_status(Code::deadline_exceeded), 504);
  for (int code = 1; code <= 16; ++code) {
    EXPECT_GE(http_status(static_cast<Code>(code)), 400) << code;
    EXPECT_FALSE(to_string(static_cast<Code>(code)).empty()) << code;
  }
}

TEST(Result, IsAValueOrAFailure) {
  const Result<int> seven = 7;
  ASSERT_TRUE(seven);
  EXPECT_EQ(*seven, 7);
  EXPECT_TRUE(seven.status().ok());
  const Result<int> none = failure(Code::not_found, "no model '", "a", "'");
  EXPECT_FALSE(none);
  EXPECT_EQ(none.status().code, Code::not_found);
  EXPECT_EQ(none.status().message, "no model 'a'");
  EXPECT_SAYS(testing_support::error_of<InternalError>([] { const Result<int> odd = Status{}; }),
              "needs a failure");
}

}  // namespace
}  // namespace pando::serve
