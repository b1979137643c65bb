// SPDX-License-Identifier: MIT
#include "pando/train/ticker.h"

#include <atomic>

#include <gtest/gtest.h>

namespace pando::train {
namespace {

TEST(Ticker, CallsUntilItIsGone) {
  std::atomic<int> calls{0};
  {
    const Ticker ticker(std::chrono::milliseconds(1), [&] { ++calls; });
    while (calls < 3) std::this_thread::yield();
  }
  const int before = calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(calls, before);
}

TEST(Ticker, DoesNotWaitForItsPeriodToEnd) {
  const Ticker ticker(std::chrono::hours(1), [] { FAIL(); });
}

}  // namespace
}  // namespace pando::train
