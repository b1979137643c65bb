#include "pando/base/clock.h"

#include <thread>

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(Clock, LeastSecondsAreThoseOfTheFastestCall) {
  int calls = 0;
  const double least = least_seconds(3, 1e9, [&] {
    if (++calls != 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  EXPECT_EQ(calls, 3);
  EXPECT_LT(least, 0.05);
  EXPECT_GE(least, 0);
}

TEST(Clock, LeastSecondsEndsAfterALongCall) {
  int calls = 0;
  const double least = least_seconds(5, 0.001, [&] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
  EXPECT_EQ(calls, 1);
  EXPECT_GE(least, 0.002);
}

}  // namespace
}  // namespace pando
