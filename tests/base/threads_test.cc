#include "pando/base/threads.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pando/base/error.h"

namespace pando {
namespace {

TEST(Threads, StartsWithItsName) {
  std::string name;
  start_thread("prefetch 3", [&](const std::stop_token&) { name = thread_name(); }).join();
  EXPECT_EQ(name, "prefetch 3");
}

TEST(Threads, CutsALongName) {
  std::string name;
  start_thread("a name that is too long", [&](const std::stop_token&) {
    name = thread_name();
  }).join();
  EXPECT_EQ(name, "a name that is ");
}

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

TEST(Threads, ArePinned) {
  const cpu_set_t all = affinity();
  int first = 0;
  while (!CPU_ISSET(static_cast<size_t>(first), &all)) ++first;
  cpu_set_t kept;
  cpu_set_t left;
  start_thread("pinned", [&](const std::stop_token&) {
    pin_this_thread({});
    left = affinity();
    pin_this_thread({&first, 1});
    kept = affinity();
  }).join();
  EXPECT_TRUE(CPU_EQUAL(&left, &all));
  EXPECT_EQ(CPU_COUNT(&kept), 1);
  EXPECT_TRUE(CPU_ISSET(static_cast<size_t>(first), &kept));
}

TEST(Threads, GiveWay) {
  int policy = -1;
  start_thread("background", [&](const std::stop_token&) {
    give_way();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(policy, SCHED_BATCH);
}

TEST(Threads, RunTogetherMayWaitForEachOther) {
  constexpr int kCount = 3;
  std::atomic<int> waiting{kCount};
  std::atomic<int> sum{0};
  run_together(kCount, [&](int index) {
    --waiting;
    while (waiting > 0) std::this_thread::yield();
    sum += 1 << index;
  });
  EXPECT_EQ(sum, 7);
}

// Makes this process one of a user who may have `limit` threads. Call it in a death test.
void limit_threads(rlim_t limit) {
  constexpr uid_t kNobodyElse = 54321;
  if (geteuid() == 0 && setuid(kNobodyElse) != 0) std::exit(3);
  const rlimit threads{limit, limit};
  setrlimit(RLIMIT_NPROC, &threads);
}

// Says how the system's refusal is told, and ends the process.
template <typename Start>
[[noreturn]] void tell_refusal(rlim_t limit, const Start& start) {
  limit_threads(limit);
  try {
    start();
  } catch (const ResourceError& error) {
    std::fputs(error.what(), stderr);
    std::exit(1);
  }
  std::exit(0);
}

TEST(Threads, ARefusalNamesTheLimit) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto one = [] { start_thread("one", [](const std::stop_token&) {}); };
  EXPECT_EXIT(tell_refusal(1, one), testing::ExitedWithCode(1), "'one'.*ulimit -u is 1 ");
  const auto team = [] { run_together(50, [](int) { std::exit(4); }); };
  EXPECT_EXIT(tell_refusal(5, team), testing::ExitedWithCode(1), "ulimit -u is 5 ");
}

TEST(Threads, DestructorAsksForAStop) {
  bool stopped = false;
  {
    const std::jthread thread = start_thread("waits", [&](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      stopped = true;
    });
  }
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace pando
