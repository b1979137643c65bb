#include "pando/app/job/stop_signal.h"

#include <csignal>

#include <gtest/gtest.h>
#include <signal.h>

namespace pando::app {
namespace {

TEST(StopSignal, KeepsTheFirstSignal) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    const StopSignal signal;
    EXPECT_EQ(signal.received(), 0);
    EXPECT_FALSE(signal.wanted());
    std::raise(number);
    EXPECT_EQ(signal.received(), number);
    EXPECT_TRUE(signal.wanted());
  }
}

TEST(StopSignal, HasAName) {
  EXPECT_EQ(signal_name(SIGINT), "SIGINT");
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGHUP), "SIGHUP");
  EXPECT_EQ(signal_name(SIGUSR1), "SIGUSR1");
  EXPECT_EQ(signal_name(SIGKILL), "signal 9");
}

TEST(StopSignal, TheSecondSignalEndsTheProcess) {
  const auto twice = [] {
    const StopSignal signal;
    std::raise(SIGTERM);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(twice(), testing::ExitedWithCode(128 + SIGINT), "");
}

TEST(StopSignal, GetsWhatWasHeldBeforeIt) {
  hold_stop_signals();
  std::raise(SIGUSR1);
  const StopSignal signal("");
  EXPECT_EQ(signal.received(), SIGUSR1);
  EXPECT_TRUE(signal.wanted());
}

TEST(StopSignal, AnswersAsItIsTold) {
  testing::internal::CaptureStderr();
  const StopSignal signal("stopping the download\n");
  std::raise(SIGTERM);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "stopping the download\n");
}

void mark(int) {}

TEST(StopSignal, RestoresTheHandlersBefore) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction original = {};
    struct sigaction own = {};
    own.sa_handler = mark;
    ASSERT_EQ(sigaction(number, &own, &original), 0);
    struct sigaction during = {};
    {
      const StopSignal signal;
      sigaction(number, nullptr, &during);
    }
    struct sigaction after = {};
    sigaction(number, &original, &after);
    EXPECT_NE(during.sa_handler, mark);
    EXPECT_EQ(after.sa_handler, mark);
  }
}

TEST(StopSignal, LeavesIgnoredSignalsAlone) {
  struct sigaction ignore = {};
  struct sigaction original = {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGHUP, &ignore, &original), 0);
  {
    const StopSignal signal;
    std::raise(SIGHUP);
    EXPECT_EQ(signal.received(), 0);
  }
  sigaction(SIGHUP, &original, nullptr);
}

}  // namespace
}  // namespace pando::app
