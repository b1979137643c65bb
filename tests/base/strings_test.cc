#include "pando/base/strings.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Strings, ParseTakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int("42"), 42);
  EXPECT_EQ(parse_int("+7"), 7);
  EXPECT_EQ(parse_int("42x"), std::nullopt);
  EXPECT_EQ(parse_int(""), std::nullopt);
  EXPECT_EQ(parse_int("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_double("1e-3"), 1e-3);
  EXPECT_EQ(parse_double("1e-3f"), std::nullopt);
}

TEST(Strings, EditDistanceCountsASwapOnce) {
  EXPECT_EQ(edit_distance("relu", "relu"), 0);
  EXPECT_EQ(edit_distance("rleu", "relu"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Strings, UnknownNameSuggestsTheNearest) {
  const std::string message = unknown_name_message("model", "mnist_cn", {"cosmoflow", "mnist_cnn"});
  EXPECT_SAYS(message, "unknown model 'mnist_cn'", "did you mean 'mnist_cnn'?",
              "known: mnist_cnn, cosmoflow");
  const std::string far = unknown_name_message("model", "zzzzzzzz", {"a"});
  EXPECT_SAYS(far, "unknown model 'zzzzzzzz'", "known: a");
  EXPECT_EQ(far.find("did you mean"), std::string::npos);
}

TEST(Strings, TheNearestNameIsTheMostSimilarOfThoseThatContainIt) {
  const std::vector<std::string> known = {"validate-during-training", "training", "TRACE"};
  EXPECT_EQ(nearest_name("raining", known), "training");
  EXPECT_EQ(nearest_name("Trase", known), "TRACE");
  EXPECT_EQ(nearest_name("dropout", known), std::nullopt);
  EXPECT_EQ(nearest_name("", known), std::nullopt);
  EXPECT_EQ(nearest_name("a", {}), std::nullopt);
}

TEST(Strings, NumbersForPeople) {
  EXPECT_EQ(with_thousands(34826), "34,826");
  EXPECT_EQ(with_thousands(-1234567), "-1,234,567");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
}

}  // namespace
}  // namespace pando
