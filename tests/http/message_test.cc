// SPDX-License-Identifier: MIT
#include "pando/http/message.h"

#include <gtest/gtest.h>

namespace pando::http {
namespace {

std::string decoded(std::string_view text) {
  std::string result;
  return percent_decode(text, result) ? result : "refused";
}

TEST(HttpMessage, DecodesPercent) {
  EXPECT_EQ(decoded("a%20b%2Fc%2e"), "a b/c.");
  EXPECT_EQ(decoded(""), "");
  for (const char* bad : {"%", "%4", "a%4", "%zz", "%4g", "%00"})
    EXPECT_EQ(decoded(bad), "refused");
}

TEST(HttpMessage, WritesJsonStrings) {
  const auto json = [](std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
  };
  EXPECT_EQ(json("a\"b\\c\nd\x01"), R"("a\"b\\c\nd\u0001")");
  EXPECT_EQ(json("ä€😀"), "\"ä€😀\"");
  const std::string replaced = "\"\xEF\xBF\xBD\"";
  EXPECT_EQ(json("\xFF"), replaced);
  EXPECT_EQ(json("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");                  // cut off
  EXPECT_EQ(json("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");                  // overlong
  EXPECT_EQ(json("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");  // a surrogate
}

TEST(HttpMessage, ComparesSecrets) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abd", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abcabc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("ab", "abc"));
  EXPECT_FALSE(equal_in_constant_time("", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", ""));
}

TEST(HttpMessage, FindsHeadersWithoutCase) {
  const HeaderView headers[] = {{"Content-Type", "a"}, {"X", ""}};
  Request request;
  request.headers = headers;
  EXPECT_EQ(request.header("content-TYPE"), "a");
  EXPECT_NE(request.header("x").data(), nullptr);
  EXPECT_EQ(request.header("y").data(), nullptr);
}

}  // namespace
}  // namespace pando::http
