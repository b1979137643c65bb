#include "pando/benchmark/processor_watch.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pando::benchmark {
namespace {

TEST(ProcessorWatch, ReadsTheLineOfTheSystem) {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(*busy_seconds("cpu  100 20 30 4000 500 6 7 8 0 0"), 171 * tick);
  EXPECT_FALSE(busy_seconds("cpu 1 2"));
  EXPECT_FALSE(busy_seconds(""));
  EXPECT_FALSE(busy_seconds("intr 1 2 3 4 5 6 7 8"));
}

void work_for(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// A child that still runs at the end of the watch is not yet counted as ours: it stands for another
// process. What we do ourselves is ours.
TEST(ProcessorWatch, TellsOurOwnWorkFromThatOfOthers) {
  const ProcessorWatch own;
  work_for(0.5);
  const double without = own.other_cores();
  const ProcessorWatch other;
  const pid_t pid = fork();
  if (pid == 0) {
    work_for(20);
    _exit(0);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  const double with = other.other_cores();
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_GT(with, 0.3);  // on a busy machine less than a whole core
  EXPECT_GE(without, 0);
}

TEST(ProcessorWatch, DoesNotJudgeAShortTime) { EXPECT_EQ(ProcessorWatch().other_cores(), 0); }

}  // namespace
}  // namespace pando::benchmark
