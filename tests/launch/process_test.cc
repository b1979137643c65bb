#include "pando/launch/process.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pando::launch {
namespace {

std::string read_all(int end) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 1; got > 0;) {
    got = read(end, buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
  }
  close(end);
  return text;
}

int wait_for(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return code_of(status);
}

TEST(Process, HasItsOutputInPipesAndAGroupOfItsOwn) {
  const Process process = start_process({"/bin/sh", "-c", "echo out; echo err >&2"}, [] {});
  EXPECT_EQ(getpgid(process.pid), process.pid);
  EXPECT_EQ(read_all(process.out), "out\n");
  EXPECT_EQ(read_all(process.err), "err\n");
  EXPECT_EQ(wait_for(process.pid), 0);
}

TEST(Process, CodesAreThoseOfAShell) {
  const auto code_after = [](const std::string& script) {
    const Process process = start_process({"/bin/sh", "-c", script}, [] {});
    read_all(process.out);
    read_all(process.err);
    return wait_for(process.pid);
  };
  EXPECT_EQ(code_after("exit 75"), 75);
  EXPECT_EQ(code_after("kill -9 $$"), 137);
  const Process none = start_process({"/no/such/program"}, [] {});
  read_all(none.out);
  read_all(none.err);
  EXPECT_EQ(wait_for(none.pid), 127);
}

TEST(Process, EndsOrphansThatDoNotWantTo) {
  adopt_orphans();
  const Process process = start_process(
      {"/bin/sh", "-c", "(trap '' TERM; echo ready; while :; do sleep 1; done) & echo $!; wait"},
      [] {});
  std::array<char, 64> buffer{};
  ASSERT_GT(read(process.out, buffer.data(), buffer.size()), 0);
  kill(process.pid, SIGKILL);  // its child becomes an orphan
  end_descendants();
  EXPECT_TRUE(descendants().empty());
  close(process.out);
  close(process.err);
}

TEST(Process, KnowsItsDescendants) {
  const Process process = start_process({"/bin/sh", "-c", "echo ready; sleep 100 & wait"}, [] {});
  std::array<char, 64> buffer{};
  ASSERT_GT(read(process.out, buffer.data(), buffer.size()), 0);
  const auto all = descendants();
  EXPECT_EQ(std::count(all.begin(), all.end(), process.pid), 1);
  kill(-process.pid, SIGKILL);
  EXPECT_EQ(wait_for(process.pid), 137);
  end_descendants();
  close(process.out);
  close(process.err);
}

}  // namespace
}  // namespace pando::launch
