#include "pando/base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>

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
