#include "pando/runtime/machine/barrier.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pando::runtime {
namespace {

// Each thread writes to a slot of its own and reads all slots after the barrier. The slots are
// plain integers: the thread sanitizer sees it if the barrier does not order them.
void meet(int threads, int rounds, int sleepy_thread) {
  Barrier barrier(threads);
  std::vector<int> slots(static_cast<size_t>(threads), 0);
  std::vector<int> errors(static_cast<size_t>(threads), 0);
  std::vector<std::thread> team;
  for (int self = 0; self < threads; ++self) {
    team.emplace_back([&, self] {
      for (int round = 1; round <= rounds; ++round) {
        if (self == sleepy_thread) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        slots[static_cast<size_t>(self)] = round;
        barrier.arrive_and_wait();
        for (const int slot : slots) errors[static_cast<size_t>(self)] += slot == round ? 0 : 1;
        barrier.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  for (const int count : errors) EXPECT_EQ(count, 0);
}

TEST(Barrier, OneThreadNeverWaits) { meet(1, 1000, -1); }
TEST(Barrier, AllMeetAgainAndAgain) {
  meet(2, 300, -1);
  meet(3, 100, -1);
}
TEST(Barrier, SleepersAreWoken) { meet(3, 5, 1); }

TEST(Barrier, BreakingItUpLetsAllGo) {
  for (const int spins : {0, kSpins}) {
    Barrier barrier(3, spins);
    std::vector<std::thread> waiting;
    for (int i = 0; i < 2; ++i) {
      waiting.emplace_back([&] { EXPECT_FALSE(barrier.arrive_and_wait()); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    barrier.break_up();
    for (std::thread& thread : waiting) thread.join();
    EXPECT_FALSE(barrier.arrive_and_wait());  // later calls do not wait either
    barrier.reset();
    std::vector<std::thread> again;
    for (int i = 0; i < 3; ++i) {
      again.emplace_back([&] {
        for (int round = 0; round < 10; ++round) EXPECT_TRUE(barrier.arrive_and_wait());
      });
    }
    for (std::thread& thread : again) thread.join();
  }
}

TEST(Barrier, ABrokenBarrierOfOneSaysSo) {
  Barrier barrier(1);
  EXPECT_TRUE(barrier.arrive_and_wait());
  barrier.break_up();
  EXPECT_FALSE(barrier.arrive_and_wait());
}

// A thread that arrives during break_up() must not wait for a round that never ends.
TEST(Barrier, ArrivingWhileItBreaksUp) {
  constexpr int kRounds = 20000;
  std::vector<std::unique_ptr<Barrier>> barriers;
  for (int i = 0; i < kRounds; ++i) barriers.push_back(std::make_unique<Barrier>(2, 0));
  std::atomic<int> arriving{-1};
  std::thread arrives([&] {
    for (int i = 0; i < kRounds; ++i) {
      arriving = i;
      EXPECT_FALSE(barriers[static_cast<size_t>(i)]->arrive_and_wait());
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    while (arriving < i) std::this_thread::yield();
    barriers[static_cast<size_t>(i)]->break_up();
  }
  arrives.join();
}

}  // namespace
}  // namespace pando::runtime
