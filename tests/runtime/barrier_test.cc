#include "pando/runtime/barrier.h"

#include <chrono>
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

}  // namespace
}  // namespace pando::runtime
