#include "pando/base/named_values.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace pando {
namespace {

using Figures = std::vector<std::pair<std::string, double>>;

TEST(NamedValues, FindsTheFirstOfAName) {
  const Figures figures = {{"loss", 1}, {"accuracy", 2}, {"loss", 3}};
  const Figures none;
  ASSERT_NE(find_named(figures, "loss"), nullptr);
  EXPECT_EQ(*find_named(figures, "loss"), 1);
  EXPECT_EQ(find_named(figures, "los"), nullptr);
  EXPECT_EQ(find_named(none, "loss"), nullptr);
}

TEST(NamedValues, SettingReplacesOrAppends) {
  Figures figures = {{"loss", 1}, {"accuracy", 2}};
  set_named(figures, "loss", 3);
  set_named(figures, "rate", 4);
  EXPECT_EQ(figures, (Figures{{"loss", 3}, {"accuracy", 2}, {"rate", 4}}));
}

}  // namespace
}  // namespace pando
