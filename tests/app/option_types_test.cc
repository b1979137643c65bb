#include "pando/app/option_types.h"

#include "tests/app/option_fixture.h"

namespace pando::app {
namespace {

TEST(Numbers, AreFiniteAndWhole) {
  EXPECT_EQ(parse_real("1/2"), 0.5);
  EXPECT_EQ(parse_real("1e-5"), 1e-5);
  for (const char* text : {"", "1/0", "1/", "/2", "nan", "inf", "1/2/3", "1x", "0x"}) {
    EXPECT_EQ(parse_real(text), std::nullopt) << text;
  }
  Fixture f;
  for (const char* text : {"1.0", "9999999999", "-9999999999", "1e1", ""}) {
    EXPECT_NE(f.error({"--count", text}), "") << text;
  }
}

}  // namespace
}  // namespace pando::app
