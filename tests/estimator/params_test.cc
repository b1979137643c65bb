#include "pando/estimator/params.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

const Params& sample() {
  static const Params params = {{"use_bias", true},
                                {"units", int64_t{32}},
                                {"rate", 0.5},
                                {"activation", std::string("relu")}};
  return params;
}

TEST(Params, GivesWhatIsThere) {
  EXPECT_TRUE(sample().get_bool("use_bias"));
  EXPECT_EQ(sample().get_int("units"), 32);
  EXPECT_EQ(sample().get_double("rate"), 0.5);
  EXPECT_EQ(sample().get_string("activation"), "relu");
  EXPECT_EQ(sample().values().size(), 4u);
  EXPECT_TRUE(sample().contains("rate"));
  EXPECT_FALSE(sample().contains("dropout"));
}

TEST(Params, AWholeNumberServesAsADoubleButNotTheOtherWayRound) {
  EXPECT_EQ(sample().get_double("units"), 32.0);
  EXPECT_EQ(error_of([] { sample().get_int("rate"); }),
            "parameter 'rate': expected a whole number, got a number");
}

TEST(Params, SetAddsAndReplaces) {
  Params params;
  params.set("units", int64_t{8});
  params.set("units", int64_t{16});
  params.set("name", std::string("a"));
  EXPECT_EQ(params.get_int("units"), 16);
  EXPECT_EQ(params.get_string("name"), "a");
}

TEST(Params, AnotherTypeIsAnErrorThatNamesBoth) {
  EXPECT_EQ(error_of([] { sample().get_bool("units"); }),
            "parameter 'units': expected a bool, got a whole number");
  EXPECT_EQ(error_of([] { sample().get_int("use_bias"); }),
            "parameter 'use_bias': expected a whole number, got a bool");
  EXPECT_EQ(error_of([] { sample().get_double("activation"); }),
            "parameter 'activation': expected a number, got text");
  EXPECT_EQ(error_of([] { sample().get_string("rate"); }),
            "parameter 'rate': expected text, got a number");
}

TEST(Params, AnUnknownNameIsAnErrorWithTheKnownOnes) {
  const std::string message = error_of([] { sample().get_int("unit"); });
  EXPECT_SAYS(message, "parameter 'unit'");
  for (const char* known : {"activation", "rate", "units", "use_bias"}) EXPECT_SAYS(message, known);
}

}  // namespace
}  // namespace pando
