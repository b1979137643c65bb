// SPDX-License-Identifier: MIT
#include "pando/comm/start_watch.h"

#include <atomic>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "tests/support/expect_error.h"

namespace pando::comm {
namespace {

using testing_support::error_of;

TEST(StartWatch, SaysWhatItWaitsForAndGivesUp) {
  std::mutex mutex;
  std::vector<std::string> said;
  std::atomic<bool> gave_up{false};
  {
    const StartWatch watch({.first_word = std::chrono::milliseconds(1),
                            .limit = std::chrono::milliseconds(2),
                            .say =
                                [&](const std::string& line) {
                                  const std::lock_guard lock(mutex);
                                  said.push_back(line);
                                },
                            .give_up =
                                [&] {
                                  gave_up = true;
                                  gave_up.notify_all();
                                }});
    gave_up.wait(false);
  }
  ASSERT_EQ(said.size(), 2u);
  EXPECT_SAYS(said[0], "0.001 s");
  EXPECT_SAYS(said[1], "0.002 s");
  EXPECT_SAYS(said[1], "PANDO_START_TIMEOUT");
}

TEST(StartWatch, IsSilentWhenAllStart) {
  std::atomic<int> calls{0};
  {
    const StartWatch watch(
        {.say = [&](const std::string&) { ++calls; }, .give_up = [&] { ++calls; }});
  }
  EXPECT_EQ(calls, 0);
}

TEST(StartWatch, TheEnvironmentSaysHowLong) {
  const auto with = [](const char* value) {
    return start_watch_from_environment([value](const char*) -> const char* { return value; });
  };
  EXPECT_EQ(with(nullptr).limit, std::chrono::milliseconds(300'000));
  EXPECT_EQ(with("1.5").limit, std::chrono::milliseconds(1500));
  EXPECT_EQ(with("0").limit, std::nullopt);
  for (const char* wrong : {"", "soon", "-1", "nan", "1e9"}) {
    const std::string message = error_of([&] { with(wrong); });
    EXPECT_SAYS(message, "PANDO_START_TIMEOUT");
    EXPECT_SAYS(message, concat("'", wrong, "'"));
  }
}

}  // namespace
}  // namespace pando::comm
