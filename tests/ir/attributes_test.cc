#include "pando/ir/attributes.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando::ir {
namespace {

TEST(Attributes, ReadsByKind) {
  const Attributes attributes = {
      {"n", int64_t{3}}, {"f", 0.5}, {"s", std::string("same")}, {"l", Ints{1, 2}}};
  EXPECT_EQ(attributes.get_int("n"), 3);
  EXPECT_EQ(attributes.get_double("n"), 3.0);
  EXPECT_EQ(attributes.get_double("f"), 0.5);
  EXPECT_EQ(attributes.get_string("s"), "same");
  EXPECT_EQ(attributes.get_ints("l"), (Ints{1, 2}));
  EXPECT_EQ(attributes.get_int("absent", 7), 7);
}

TEST(Attributes, WrongKindIsAnError) {
  const Attributes attributes = {{"s", std::string("same")}};
  EXPECT_THROW(attributes.get_int("s"), InvalidArgument);
}

TEST(Attributes, WholeNumbersStayNumbers) {
  EXPECT_EQ(to_text(Attribute(2.0)), "2.0");
  EXPECT_EQ(to_text(Attribute(Numbers{2, -0.5, 1e30})), "[2.0,-0.5,1e+30]");
  EXPECT_EQ(to_text(Attribute(Ints{2, -1})), "[2,-1]");
}

TEST(Attributes, KindsHaveNames) {
  EXPECT_EQ(kind_name(Attribute(Ints{})), "a list of integers");
  EXPECT_EQ(kind_name(Attribute(Numbers{})), "a list of numbers");
}

}  // namespace
}  // namespace pando::ir
