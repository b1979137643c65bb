// SPDX-License-Identifier: MIT
#include "pando/wire/json_cursor.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::wire {
namespace {

using testing_support::error_of;

double number_in(std::string_view text) { return JsonCursor(text).number(); }
float float_in(std::string_view text) { return JsonCursor(text).number_f32(); }

TEST(JsonCursor, ReadsNumbers) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "-1.5",
                           "1e3",
                           "1E-3",
                           "12345678",
                           "123456789012345678",
                           "0.1",
                           "3.141592653589793",
                           "1e22",
                           "1e23",
                           "1e-22",
                           "1e-23",
                           "9007199254740993",
                           "2.5e-5",
                           "123456789012345678901234567890",
                           "1.7976931348623157e308",
                           "4.9e-324",
                           "1e-400",
                           "0.30000000000000004441",
                           "1234567.12345678e-10",
                           "0.000000001234567812345678"}) {
    EXPECT_EQ(number_in(text), std::strtod(text, nullptr)) << text;
    EXPECT_EQ(float_in(text), static_cast<float>(std::strtod(text, nullptr))) << text;
  }
  EXPECT_TRUE(std::signbit(number_in("-0")));
  EXPECT_TRUE(std::isnan(number_in("NaN")));
  EXPECT_EQ(number_in("-Infinity"), -INFINITY);
  EXPECT_EQ(float_in("Infinity"), INFINITY);
  EXPECT_EQ(float_in("1e39"), INFINITY);
  EXPECT_EQ(number_in("0." + std::string(400, '0') + "1"), 0);
  EXPECT_EQ(float_in("1234567890123456789012345e-400"), 0);
}

TEST(JsonCursor, RoundsAsTheLibraryDoes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    float value = 0;
    std::memcpy(&value, &bits, 4);
    if (!std::isfinite(value)) continue;
    char text[64];
    // Python prints f32 as f64, with up to 17 digits.
    std::snprintf(text, sizeof(text), "%.*g", static_cast<int>(6 + random() % 14), double{value});
    const double wide = std::strtod(text, nullptr);
    ASSERT_EQ(number_in(text), wide) << text;
    if (std::abs(wide) <= 3.4e38) {
      const float narrow = float_in(text);
      // Rounding twice may differ from rounding once where the number is nearly between two floats.
      ASSERT_TRUE(narrow == static_cast<float>(wide) || narrow == std::strtof(text, nullptr))
          << text;
    }
  }
}

TEST(JsonCursor, RefusesWhatIsNoNumber) {
  for (const char* text : {"01", "1.", ".5", "-", "+1", "1e", "1e+", "--1", "NaNa", "Nan", "-NaN",
                           "Infinit", "1.e3", "0x10"}) {
    EXPECT_THROW(
        {
          JsonCursor cursor(text);
          cursor.enter_array();
        },
        InvalidArgument);
    const auto read = [&] {
      JsonCursor cursor(text);
      cursor.skip();
      if (cursor.offset() != std::string_view(text).size()) throw InvalidArgument("rest");
    };
    EXPECT_THROW(read(), InvalidArgument) << text;
  }
  EXPECT_SAYS(error_of([] { number_in("1e400"); }), "too big");
  EXPECT_SAYS(error_of([] { number_in("1" + std::string(400, '0')); }), "too big");
  EXPECT_SAYS(error_of([] { float_in("1e400"); }), "too big");
}

TEST(JsonCursor, ReadsStrings) {
  const auto string_in = [](std::string_view text) {
    std::string out;
    JsonCursor(text).string(out);
    return out;
  };
  EXPECT_EQ(string_in(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(string_in(R"("\u0041\u00e4\u20ac\ud83d\ude00")"), "Aä€😀");
  EXPECT_SAYS(error_of([&] { string_in("\"abc"); }), "closing quotation mark", "offset: 4");
  EXPECT_SAYS(error_of([&] { string_in(R"("\x")"); }), "escape");
  EXPECT_SAYS(error_of([&] { string_in(R"("\u12")"); }), "hex");
  EXPECT_SAYS(error_of([&] { string_in(R"("\u12g4")"); }), "hex");
  EXPECT_SAYS(error_of([&] { string_in(R"("\ud83d")"); }), "surrogate");
  EXPECT_SAYS(error_of([&] { string_in(R"("\ud83d\u0041")"); }), "surrogate");
  EXPECT_SAYS(error_of([&] { string_in(R"("\udc00")"); }), "surrogate");
  EXPECT_SAYS(error_of([&] { string_in("\"a\nb\""); }), "encoding");
}

TEST(JsonCursor, WalksObjectsAndArrays) {
  JsonCursor cursor(R"( { "a" : [ 1 , true, null , "x" ] , "b" : {} , "c":[[]] } rest)");
  std::string key;
  cursor.enter_object();
  ASSERT_TRUE(cursor.next_member(key));
  EXPECT_EQ(key, "a");
  cursor.enter_array();
  ASSERT_TRUE(cursor.next_element());
  EXPECT_EQ(cursor.number(), 1);
  ASSERT_TRUE(cursor.next_element());
  EXPECT_EQ(cursor.kind(), JsonCursor::Kind::truth);
  EXPECT_TRUE(cursor.truth());
  ASSERT_TRUE(cursor.next_element());
  cursor.null();
  ASSERT_TRUE(cursor.next_element());
  cursor.skip();
  EXPECT_FALSE(cursor.next_element());
  ASSERT_TRUE(cursor.next_member(key));
  cursor.skip();
  ASSERT_TRUE(cursor.next_member(key));
  EXPECT_EQ(key, "c");
  cursor.skip();
  EXPECT_FALSE(cursor.next_member(key));
  EXPECT_EQ(cursor.depth(), 0);
}

TEST(JsonCursor, NamesWhatIsWrong) {
  const auto skip_error = [](std::string_view text) {
    return error_of([&] { JsonCursor(text).skip(); });
  };
  EXPECT_SAYS(skip_error(""), "JSON Parse error: The document is empty. at offset: 0");
  EXPECT_SAYS(skip_error("[1 2]"), "Missing a comma or ] after an array element. at offset: 3");
  EXPECT_SAYS(skip_error("[1,]"), "Invalid value");
  EXPECT_SAYS(skip_error("{\"a\":1 \"b\":2}"), "Missing a comma or }");
  EXPECT_SAYS(skip_error("{a:1}"), "Missing a name");
  EXPECT_SAYS(skip_error("{\"a\" 1}"), "Missing a colon");
  EXPECT_SAYS(skip_error("[tru]"), "Invalid value");
  EXPECT_SAYS(skip_error("[nul]"), "Invalid value");
  EXPECT_SAYS(skip_error("[1.]"), "fraction");
  EXPECT_SAYS(skip_error("[1e]"), "exponent");
  EXPECT_SAYS(skip_error(std::string(100'000, '[')), "nested too deep");
  EXPECT_SAYS(error_of([] { JsonCursor("1").enter_object(); }), "Invalid value");
  EXPECT_SAYS(error_of([] { JsonCursor("1").truth(); }), "Invalid value");
  EXPECT_SAYS(error_of([] { JsonCursor("1").null(); }), "Invalid value");
  std::string text;
  EXPECT_SAYS(error_of([&] { JsonCursor("1").string(text); }), "Invalid value");
}

TEST(JsonCursor, KnowsWhetherMoreFollows) {
  const auto read = [](std::string_view text) {
    JsonCursor cursor(text);
    cursor.skip();
    cursor.end();
  };
  EXPECT_NO_THROW(read("{\"a\": 1} \n"));
  EXPECT_SAYS(error_of([&] { read("{} x"); }), "must not be followed by other values",
              "at offset: 3");
}

}  // namespace
}  // namespace pando::wire
