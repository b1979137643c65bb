#include "pando/options/fraction.h"

#include <limits>

#include "tests/options/option_fixture.h"

namespace pando::app {
namespace {

TEST(Fraction, IsInLowestTermsWithItsSignAbove) {
  EXPECT_EQ(Fraction(2, 4), Fraction(1, 2));
  EXPECT_EQ(Fraction(1, -2), Fraction(-1, 2));
  EXPECT_EQ(Fraction(-3, -6), Fraction(1, 2));
  EXPECT_EQ(Fraction(0, -7), Fraction());
  EXPECT_NE(Fraction(1, 2), Fraction(1, 3));
  EXPECT_EQ(Fraction(-1, 2).numerator(), -1);
  EXPECT_EQ(Fraction(1, -2).denominator(), 2);
  EXPECT_EQ(Fraction(3, 2).value(), 1.5);
  EXPECT_TRUE(Fraction(4, 2).is_whole());
  EXPECT_FALSE(Fraction(3, 2).is_whole());
}

TEST(Fraction, RefusesWhatHasNoLowestTerms) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  EXPECT_THROW(Fraction(1, 0), InternalError);
  EXPECT_THROW(Fraction(kLowest, 3), InternalError);
  EXPECT_THROW(Fraction(3, kLowest), InternalError);
}

TEST(Fraction, AsText) {
  EXPECT_EQ(to_string(Fraction(2)), "2");
  EXPECT_EQ(to_string(Fraction(2, 6)), "1/3");
  EXPECT_EQ(to_string(Fraction(-2, 6)), "-1/3");
  EXPECT_EQ(to_string(Fraction()), "0");
}

TEST(ParseFraction, IsExact) {
  const std::vector<std::pair<const char*, Fraction>> cases = {
      {"2", Fraction(2)},
      {"0", Fraction()},
      {"-0.0", Fraction()},
      {"0e5", Fraction()},
      {"0.5", Fraction(1, 2)},
      {".25", Fraction(1, 4)},
      {"3.", Fraction(3)},
      {"+1.5", Fraction(3, 2)},
      {"-0.1", Fraction(-1, 10)},
      {"1/2", Fraction(1, 2)},
      {"6/4", Fraction(3, 2)},
      {"-1/3", Fraction(-1, 3)},
      {"1/-3", Fraction(-1, 3)},
      {"0.5/2", Fraction(1, 4)},
      {"1/0.25", Fraction(4)},
      {"1e-2", Fraction(1, 100)},
      {"25E+1", Fraction(250)},
      {"0.50000000000000000", Fraction(1, 2)},
      {"2147483647", Fraction(2147483647)},
      {"1/2147483647", Fraction(1, 2147483647)},
  };
  for (const auto& [text, fraction] : cases) EXPECT_EQ(parse_fraction(text), fraction) << text;
}

TEST(ParseFraction, RefusesTheRest) {
  for (const char* text : {"",
                           " ",
                           "a",
                           "1x",
                           "1 2",
                           "/",
                           "1/",
                           "/2",
                           "1/0",
                           "1/0.0",
                           "1/2/3",
                           "1//2",
                           "1/x",
                           "nan",
                           "inf",
                           "-inf",
                           "1/inf",
                           "1e",
                           "0x10",
                           "1,5",
                           "2147483648",
                           "-2147483648",
                           "1/2147483648",
                           "0.3333333333333333",
                           "99999999999999999999",
                           "1e300",
                           "1e-300",
                           "1e30",
                           "1e-18/10",
                           "1/0.0000000000000000001",
                           "9000000000000000000/0.1",
                           "0e99999999999999999999"}) {
    EXPECT_EQ(parse_fraction(text), std::nullopt) << text;
  }
}

TEST(ParseFraction, ReadsBackItsOwnText) {
  for (int64_t a = -20; a <= 20; ++a) {
    for (int64_t b = 1; b <= 20; ++b) {
      const Fraction fraction(a, b);
      EXPECT_EQ(parse_fraction(to_string(fraction)), fraction) << a << "/" << b;
    }
  }
}

}  // namespace
}  // namespace pando::app
