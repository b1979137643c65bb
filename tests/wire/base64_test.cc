// SPDX-License-Identifier: MIT
#include "pando/wire/base64.h"

#include <gtest/gtest.h>

namespace pando::wire {
namespace {

std::string decoded_base64(std::string_view text) {
  std::string out;
  return base64_decode(text, out) ? out : "refused";
}

TEST(Base64, KnowsTheVectorsOfTheStandard) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(decoded_base64(text), bytes);
  }
}

TEST(Base64, AllBytesSurvive) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    bytes += static_cast<char>(i * 37);
    ASSERT_EQ(decoded_base64(base64_encode(bytes)), bytes);
  }
}

TEST(Base64, TakesOtherSpellings) {
  EXPECT_EQ(decoded_base64("Zg"), "f");
  EXPECT_EQ(decoded_base64("-_-_"), decoded_base64("+/+/"));
}

TEST(Base64, RefusesTheRest) {
  for (const char* bad : {"Z", "Zm9vY", "Zm9!", "Z===", "Zm 9", "=Zm9", "\xFFzzz", "Z!", "Zg!"}) {
    EXPECT_EQ(decoded_base64(bad), "refused") << bad;
  }
}

}  // namespace
}  // namespace pando::wire
