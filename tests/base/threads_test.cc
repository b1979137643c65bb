#include "pando/base/threads.h"

#include <gtest/gtest.h>

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
