#include "pando/options/option_types.h"

#include "tests/options/option_fixture.h"
#include "tests/support/expect_error.h"

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

TEST(Lists, OfNamesAndOfWholeNumbers) {
  Fixture f;
  f.parse({"--parts", "conv1", "block/2", "fc", "--device-mapping", "0", "1", "0"});
  EXPECT_EQ(f.parts, (std::vector<std::string>{"conv1", "block/2", "fc"}));
  EXPECT_EQ(f.devices, (std::vector<int>{0, 1, 0}));
  for (const char* text : {"0,1,0", "[0, 1, 0]", "0, 1,0"}) {
    Fixture other;
    other.parse({"--device-mapping", text});
    EXPECT_EQ(other.devices, f.devices) << text;
  }
}

TEST(Lists, OfTheCommandLineReplaceThoseOfTheFile) {
  const TestFolder folder;
  const std::string path =
      folder.write("run.yml", "device-mapping: [0, 1]\nparts: [a, b]\nlogs: 1/3\n");
  Fixture f;
  f.parse({"--config-path", path, "--device-mapping", "2"});
  EXPECT_EQ(f.devices, (std::vector<int>{2}));
  EXPECT_EQ(f.parts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(f.logs, Fraction(1, 3));
}

TEST(Lists, ErrorsNameTheFlagAndTheList) {
  const std::string flag = "--device-mapping: ";
  const std::string wanted = "a list, each item a whole number, at least 0, below 2^31";
  EXPECT_SAYS(Fixture().error({"--device-mapping", "0", "1.5"}), flag, wanted, "[0, 1.5]");
  EXPECT_SAYS(Fixture().error({"--device-mapping", "0", "-1"}), flag, wanted, "[0, -1]");
  EXPECT_SAYS(Fixture().error({"--device-mapping", "[0, [1]]"}), flag, wanted, "[0, [1]]");
  EXPECT_SAYS(Fixture().error({"--device-mapping"}), flag, "a whole number", "no value");
}

TEST(WholeNumbers, ErrorsNameTheBoundOrTheLimitOfTheType) {
  const std::string large = "99999999999999999999";
  EXPECT_SAYS(Fixture().error({"--seed", large}), "--seed: ", "at least 0, below 2^63", large);
  EXPECT_SAYS(Fixture().error({"--micro-size", large}), "at least 1, below 2^63", large);
  EXPECT_SAYS(Fixture().error({"--device-mapping", "2147483648"}), "below 2^31", "2147483648");
  const std::string bounded = Fixture().error({"--count", large});
  EXPECT_SAYS(bounded, "at most 9");
  EXPECT_EQ(bounded.find("2^31"), std::string::npos) << bounded;
}

TEST(Fractions, AreReadExactlyAndWrittenAsFractions) {
  for (const char* text : {"1/2", "0.5", "2/4", "5e-1"}) {
    Fixture f;
    f.parse({"--logs", text});
    EXPECT_EQ(f.logs, Fraction(1, 2)) << text;
    EXPECT_NE(config_text(f.table).find("\nlogs: 1/2 "), std::string::npos);
  }
  Fixture f;
  f.parse({"--logs=10"});
  EXPECT_EQ(f.logs, Fraction(10));
}

TEST(Fractions, ErrorsNameTheFlag) {
  for (const char* text : {"-1", "-1/2", "1/-2", "half", "1/0", "1/", "0.3333333333333333", ""}) {
    EXPECT_SAYS(Fixture().error({"--logs", text}),
                "--logs: ", "a number or a fraction a/b of numbers below 2^31, at least 0",
                concat("'", text, "'"));
  }
  EXPECT_SAYS(Fixture().error({"--logs", "1", "--set", "logs=[1]"}), "--logs: ", "[1]");
}

TEST(Optionals, AreUnsetNumbersOrNothing) {
  Fixture f;
  EXPECT_EQ(f.seed, std::nullopt);
  f.parse({"--seed", "7"});
  EXPECT_EQ(f.seed, 7);
  f.parse({"--set", "seed=~"});
  EXPECT_EQ(f.seed, std::nullopt);
  EXPECT_SAYS(Fixture().error({"--seed", "1.5"}), "--seed: ", "a whole number, at least 0",
              "'1.5'");
}

TEST(Choices, AreReadInAnyCaseAndWrittenInOne) {
  for (const char* text : {"blue", "Blue", "BLUE", "azure", "Azure"}) {
    Fixture f;
    f.parse({"--color", text});
    EXPECT_EQ(f.color, Color::blue) << text;
    EXPECT_NE(config_text(f.table).find("\ncolor: blue "), std::string::npos);
  }
}

}  // namespace
}  // namespace pando::app
