#include "pando/runtime/machine/progress.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace pando::runtime {
namespace {

TEST(Progress, ThoseWhoWaitSeeWhatWasMade) {
  for (const int spins : {0, kSpins}) {
    Progress progress;
    std::atomic<bool> given_up{false};
    // Plain integers: the thread sanitizer sees it if the progress does not order them.
    std::vector<int> made(200, 0);
    std::thread maker([&] {
      for (size_t i = 0; i < made.size(); ++i) {
        made[i] = static_cast<int>(i) + 1;
        progress.advance_to(static_cast<int32_t>(i) + 1);
      }
    });
    for (size_t i = 0; i < made.size(); ++i) {
      ASSERT_TRUE(progress.wait_for(static_cast<int32_t>(i) + 1, spins, given_up));
      EXPECT_EQ(made[i], static_cast<int>(i) + 1);
    }
    maker.join();
  }
}

TEST(Progress, CountsWhatSeveralThreadsAdd) {
  Progress progress;
  const std::atomic<bool> given_up{false};
  std::vector<std::thread> makers;
  for (int i = 0; i < 3; ++i) {
    makers.emplace_back([&] {
      for (int k = 0; k < 100; ++k) progress.add(1);
    });
  }
  EXPECT_TRUE(progress.wait_for(300, 0, given_up));
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(progress.value(), 300);
}

TEST(Progress, WakingEndsTheWaitOfThoseWhoGaveUp) {
  for (const int spins : {0, kSpins}) {
    Progress progress;
    std::atomic<bool> given_up{false};
    std::vector<std::thread> waiting;
    for (int i = 0; i < 3; ++i) {
      waiting.emplace_back([&] { EXPECT_FALSE(progress.wait_for(5, spins, given_up)); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    given_up = true;
    progress.wake();
    for (std::thread& thread : waiting) thread.join();
    EXPECT_FALSE(progress.wait_for(5, spins, given_up));  // later calls do not wait either
    // It can be used again after reset().
    given_up = false;
    progress.reset();
    EXPECT_EQ(progress.value(), 0);
    std::thread late([&] { EXPECT_TRUE(progress.wait_for(1, spins, given_up)); });
    progress.advance_to(1);
    late.join();
  }
}

// Progress that a thread makes after another gave up must not hide that from the waiters.
TEST(Progress, AnAdvanceAfterTheWakeDoesNotPutBackToSleep) {
  for (int round = 0; round < 300; ++round) {
    Progress progress;
    std::atomic<bool> given_up{false};
    std::thread waiting([&] { EXPECT_FALSE(progress.wait_for(10, 0, given_up)); });
    std::thread maker([&] {
      for (int32_t i = 1; i < 5; ++i) progress.advance_to(i);
    });
    given_up = true;
    progress.wake();
    maker.join();
    waiting.join();
  }
}

}  // namespace
}  // namespace pando::runtime
