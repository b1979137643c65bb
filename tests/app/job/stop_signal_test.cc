#include "pando/app/job/stop_signal.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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
  EXPECT_EQ(signal_name(SIGPIPE), "SIGPIPE");
  EXPECT_EQ(signal_name(SIGKILL), "signal 9");
}

pid_t start_child(void (*body)()) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  return pid;
}

int status_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

void wait_until_signals_are_new() {
  std::this_thread::sleep_for(kSameRequest + std::chrono::milliseconds(20));
}

TEST(StopSignal, ALaterSignalEndsTheProcess) {
  const pid_t during = start_child([] {
    const StopSignal signal("");
    std::raise(SIGTERM);
    wait_until_signals_are_new();
    std::raise(SIGINT);
  });
  const pid_t after = start_child([] {
    {
      const StopSignal signal("");
      std::raise(SIGTERM);
    }
    wait_until_signals_are_new();
    std::raise(SIGTERM);
  });
  const int code = status_of(during);
  EXPECT_TRUE(WIFEXITED(code) && WEXITSTATUS(code) == 128 + SIGINT) << code;
  const int killed = status_of(after);
  EXPECT_TRUE(WIFSIGNALED(killed) && WTERMSIG(killed) == SIGTERM) << killed;
}

// `timeout` signals its child and the group of the child; systemd sends SIGTERM and SIGHUP.
TEST(StopSignal, SignalsWithinASecondAreOneRequest) {
  for (const int second : {SIGTERM, SIGHUP, SIGINT}) {
    const StopSignal signal("");
    std::raise(SIGTERM);
    std::raise(second);
    std::raise(second);
    EXPECT_EQ(signal.received(), SIGTERM);
  }
}

// `pando train | tee log`: Ctrl-C ends `tee`, and every line that training prints raises SIGPIPE.
TEST(StopSignal, AClosedOutputIsARequestThatNeverEndsTheProcess) {
  std::signal(SIGPIPE, SIG_DFL);
  const auto closed = [](int first) {
    {
      const StopSignal signal("");
      std::raise(first);
      EXPECT_EQ(signal.received(), first);
      EXPECT_TRUE(signal.wanted());
      std::raise(SIGPIPE);
      wait_until_signals_are_new();
      std::raise(SIGPIPE);
      EXPECT_EQ(signal.received(), first);
    }
    std::raise(SIGPIPE);
    { const StopSignal ending("", StopSignal::ClosedOutput::as_before); }
    std::raise(SIGPIPE);
    std::exit(testing::Test::HasFailure() ? 1 : 75);
  };
  EXPECT_EXIT(closed(SIGPIPE), testing::ExitedWithCode(75), "");
  EXPECT_EXIT(closed(SIGINT), testing::ExitedWithCode(75), "");
}

// `pando models | head -1` ends without a word, like other programs.
TEST(StopSignal, AClosedOutputKeepsItsEffectElsewhere) {
  std::signal(SIGPIPE, SIG_DFL);  // an earlier request would still hold it
  const auto during = [] {
    const StopSignal signal("", StopSignal::ClosedOutput::as_before);
    std::raise(SIGPIPE);
  };
  const auto after = [] {
    { const StopSignal signal(""); }
    std::raise(SIGPIPE);
  };
  EXPECT_EXIT(during(), testing::KilledBySignal(SIGPIPE), "");
  EXPECT_EXIT(after(), testing::KilledBySignal(SIGPIPE), "");
  std::signal(SIGPIPE, SIG_IGN);
  {
    const StopSignal signal("");
    std::raise(SIGPIPE);
    EXPECT_EQ(signal.received(), 0);
  }
  std::signal(SIGPIPE, SIG_DFL);
}

TEST(StopSignal, RepetitionsAreIgnoredAtTheEndToo) {
  const auto late = [] {
    {
      const StopSignal signal("");
      std::raise(SIGTERM);
    }
    std::raise(SIGTERM);
    std::raise(SIGHUP);
    { const StopSignal signal(""); }
    std::exit(75);
  };
  EXPECT_EXIT(late(), testing::ExitedWithCode(75), "");
}

TEST(StopSignal, WhatAnotherProcessReceivedMayComeHereToo) {
  const auto late = [] {
    {
      const StopSignal signal("");
      signal.expect_repetition();
    }
    std::raise(SIGUSR1);
    std::exit(75);
  };
  EXPECT_EXIT(late(), testing::ExitedWithCode(75), "");
  const StopSignal signal("");
  signal.expect_repetition();
  EXPECT_EQ(signal.received(), 0);
  std::raise(SIGUSR1);
  EXPECT_EQ(signal.received(), SIGUSR1);
}

TEST(StopSignal, AnInnerOneSharesTheRequest) {
  testing::internal::CaptureStderr();
  const StopSignal outer("outer\n");
  {
    const StopSignal inner("inner\n");
    EXPECT_EQ(inner.received(), 0);
  }
  std::raise(SIGTERM);
  const StopSignal inner("inner\n");
  EXPECT_EQ(inner.received(), SIGTERM);
  EXPECT_TRUE(inner.wanted());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "outer\n");
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
