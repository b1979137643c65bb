#include "pando/runtime/machine/helper_team.h"

#include <array>
#include <chrono>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace pando::runtime {
namespace {

TEST(HelperTeam, EveryMemberRunsTheTaskOnce) {
  for (const int spins : {0, 100}) {
    HelperTeam team(3, spins);
    EXPECT_EQ(team.size(), 3);
    std::vector<int> runs(3, 0);
    std::vector<std::thread::id> threads(3);
    for (int round = 0; round < 200; ++round) {
      team.run([&](int index) {
        ++runs[static_cast<size_t>(index)];
        threads[static_cast<size_t>(index)] = std::this_thread::get_id();
      });
    }
    EXPECT_EQ(runs, std::vector<int>(3, 200));
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    EXPECT_EQ(std::set<std::thread::id>(threads.begin(), threads.end()).size(), 3u);
  }
}

TEST(HelperTeam, WritesOfHelpersAreSeenAfterTheRun) {
  HelperTeam team(2, 50);
  std::array<int, 2> values = {};
  for (int round = 1; round <= 500; ++round) {
    team.run([&](int index) { values[static_cast<size_t>(index)] = round; });
    ASSERT_EQ(values[0], round);
    ASSERT_EQ(values[1], round);
  }
}

TEST(HelperTeam, HelpersThatSleepWakeUp) {
  HelperTeam team(2, 0);
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    team.run([&](int index) {
      if (index == 1) ++sum;
    });
  }
  EXPECT_EQ(sum, 3);
}

TEST(HelperTeam, OneMemberIsTheCallerAlone) {
  HelperTeam team(1, 0);
  int runs = 0;
  team.run([&](int index) { runs += index + 1; });
  EXPECT_EQ(runs, 1);
}

#if defined(__x86_64__)
TEST(HelperTeam, HelpersFlushDenormals) {
  HelperTeam team(2, 0);
  volatile float tiny = std::numeric_limits<float>::min();
  std::array<float, 2> halves = {};
  team.run([&](int index) { halves[static_cast<size_t>(index)] = tiny * 0.5f; });
  EXPECT_GT(halves[0], 0);  // the caller's mode is its own
  EXPECT_EQ(halves[1], 0);
}
#endif

}  // namespace
}  // namespace pando::runtime
