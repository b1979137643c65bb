#include "pando/base/error.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(Error, JoinsItsPartsAndKnowsItsKind) {
  try {
    throw InvalidArgument("conv2d '", "c1", "': ", 7, " channels");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_STREQ(error.what(), "conv2d 'c1': 7 channels");
  }
}

TEST(Check, NamesConditionAndPlace) {
  const int two = 2;
  EXPECT_NO_THROW(PANDO_CHECK(two == 2));
  try {
    PANDO_CHECK(two == 3, "two is ", two);
    FAIL();
  } catch (const InternalError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("error_test.cc:"), std::string::npos);
    EXPECT_NE(message.find("two == 3: two is 2"), std::string::npos);
  }
}

}  // namespace
}  // namespace pando
