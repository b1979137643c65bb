#include "pando/base/wide_sum.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/random.h"

namespace pando {
namespace {

WideSum sum_of(const std::vector<double>& terms, size_t begin, size_t end) {
  WideSum sum;
  for (size_t i = begin; i < end; ++i) sum += terms[i];
  return sum;
}

TEST(WideSum, DoesNotDependOnTheGrouping) {
  RandomStream random(1);
  std::vector<double> terms(1000);
  for (double& term : terms) {
    term = static_cast<double>(static_cast<float>(8 * random.next_uniform()));
    if (random.next_below(3) == 0) term *= 1e-7;
  }
  const WideSum whole = sum_of(terms, 0, terms.size());
  double plain = 0;
  int different = 0;
  for (size_t cut = 1; cut < terms.size(); cut += 7) {
    WideSum parts = sum_of(terms, 0, cut);
    parts = WideSum(parts.high(), parts.low());  // as a checkpoint stores it
    parts += sum_of(terms, cut, terms.size());
    EXPECT_EQ(parts.high(), whole.high());
    EXPECT_EQ(parts.low(), whole.low());
  }
  for (const double term : terms) plain += term;
  for (size_t cut = 1; cut < terms.size(); cut += 7) {
    double first = 0;
    double second = 0;
    for (size_t i = 0; i < terms.size(); ++i) (i < cut ? first : second) += terms[i];
    if (first + second != plain) ++different;
  }
  EXPECT_GT(different, 0);  // one double is not enough
}

TEST(WideSum, KeepsWhatOneDoubleLoses) {
  WideSum sum = 1e16;
  sum += 1;
  sum += -1e16;
  EXPECT_EQ(sum, 1);
}

TEST(WideSum, WhatIsNotFiniteStaysSo) {
  WideSum sum = 1;
  sum += std::numeric_limits<double>::infinity();
  sum += 1;
  EXPECT_EQ(sum, std::numeric_limits<double>::infinity());
  sum += std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(static_cast<double>(sum)));
}

}  // namespace
}  // namespace pando
