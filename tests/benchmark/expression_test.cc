#include "pando/benchmark/expression.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando::benchmark {
namespace {

using testing_support::error_of;
using testing_support::says_all;

TEST(Expression, HasThePrecedenceOfPython) {
  EXPECT_EQ(evaluate_expression("1 + 2 * 3"), 7);
  EXPECT_EQ(evaluate_expression("(1 + 2) * 3"), 9);
  EXPECT_EQ(evaluate_expression("-2 ** 2"), -4);
  EXPECT_EQ(evaluate_expression("2 ** 3 ** 2"), 512);
  EXPECT_EQ(evaluate_expression("2 ** -1"), 0.5);
  EXPECT_EQ(evaluate_expression("7 // 2 - -7 // 2"), 7);
  EXPECT_EQ(evaluate_expression("-7 % 3"), 2);
  EXPECT_EQ(evaluate_expression("10 / 4 / 5"), 0.5);
  EXPECT_EQ(evaluate_expression(" 1e3*(1.5e-2) "), 15);
  EXPECT_EQ(evaluate_expression("max(1, min(5, 3), 2) + abs(-1) + round(2.4)"), 6);
  EXPECT_EQ(evaluate_expression("sqrt(16) + log(1) + exp(0)"), 5);
  EXPECT_EQ(evaluate_expression("(-3) * (2)"), -6);
}

TEST(Expression, SaysWhatIsWrong) {
  const auto wrong = [](const char* text) {
    return error_of<InvalidArgument>([&] { evaluate_expression(text); });
  };
  EXPECT_TRUE(says_all(wrong("1 +"), {"'1 +'", "a number", "character 4", "nothing"}));
  EXPECT_TRUE(says_all(wrong("1 2"), {"an operator", "'2'"}));
  EXPECT_TRUE(says_all(wrong("(1"), {"')'"}));
  EXPECT_TRUE(says_all(wrong("max(1"), {"')'"}));
  EXPECT_TRUE(says_all(wrong("import(1)"), {"min, max"}));
  EXPECT_TRUE(says_all(wrong("abs(1, 2)"), {"of one number"}));
  EXPECT_TRUE(says_all(wrong("x"), {"a number, or"}));
  EXPECT_TRUE(says_all(wrong("1 / 0"), {"divides by 0"}));
  EXPECT_TRUE(says_all(wrong("1 % 0"), {"divides by 0"}));
  EXPECT_TRUE(says_all(wrong("10 ** 1000"), {"is inf"}));
  EXPECT_TRUE(says_all(wrong("log(-1)"), {"nan"}));
  const std::string deep = std::string(100000, '(') + "1";
  EXPECT_TRUE(says_all(wrong(deep.c_str()), {"nested too deeply"}));
  const std::string signs = std::string(100000, '-') + "1";
  EXPECT_TRUE(says_all(wrong(signs.c_str()), {"nested too deeply"}));
}

}  // namespace
}  // namespace pando::benchmark
