// SPDX-License-Identifier: MIT
#include "pando/launch/supervision.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

namespace pando::launch {
namespace {

using std::chrono::milliseconds;
using testing_support::TempFolder;

pid_t child(int (*body)()) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  return pid;
}

TEST(WaitForProgram, GivesHowItEnded) {
  for (const std::optional<milliseconds> longest :
       {std::optional<milliseconds>(), {milliseconds(1)}}) {
    const int code = wait_for_program(child([] { return 7; }), longest);
    EXPECT_TRUE(WIFEXITED(code));
    EXPECT_EQ(WEXITSTATUS(code), 7);
    const int killed = wait_for_program(child([] { return raise(SIGKILL); }), longest);
    EXPECT_TRUE(WIFSIGNALED(killed));
    EXPECT_EQ(WTERMSIG(killed), SIGKILL);
  }
}

TEST(WaitForProgram, KillsOneThatIsStoppedForLong) {
  const int status = wait_for_program(child([] { return raise(SIGSTOP); }), milliseconds(100));
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(WaitForProgram, LetsGoOnWhatIsContinued) {
  const pid_t pid = child([] {
    for (int i = 0; i < 3; ++i) raise(SIGSTOP);
    return 7;
  });
  std::jthread other([pid](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(milliseconds(20));
      kill(pid, SIGCONT);
    }
  });
  EXPECT_EQ(WEXITSTATUS(wait_for_program(pid, milliseconds(60000))), 7);
}

TEST(WaitForProgram, SeesTheEndOfWhatIsStopped) {
  const pid_t pid = child([] { return raise(SIGSTOP); });
  const std::jthread other([pid] {
    std::this_thread::sleep_for(milliseconds(100));
    kill(pid, SIGTERM);
    kill(pid, SIGCONT);
  });
  const int status = wait_for_program(pid, milliseconds(60000));
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

// Starts a copy of the program `from` under another name.
pid_t start_as(const TempFolder& folder, const std::string& name, const std::string& from,
               const std::string& first, const std::string& second) {
  const std::string path = folder.path(name);
  std::filesystem::copy_file(from, path);
  const pid_t pid = fork();
  if (pid == 0) {
    execl(path.c_str(), path.c_str(), first.c_str(), second.c_str(), nullptr);
    _exit(127);
  }
  while (std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe") != path) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return pid;
}

TEST(EndDaemonLater, EndsOneThatIsAlone) {
  const TempFolder folder;
  const pid_t daemon = start_as(folder, "orted", "/bin/sleep", "500", "500");
  end_daemon_later(daemon, milliseconds(100));
  int status = 0;
  waitpid(daemon, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(EndDaemonLater, LeavesOthersAlone) {
  const TempFolder busy_folder;
  const std::string work =
      "sh -c 'echo 1 > " + busy_folder.path("begun") + "; exec sleep 5 > /dev/null 2>&1'; true";
  const pid_t busy = start_as(busy_folder, "orted", "/bin/sh", "-c", work);
  while (busy_folder.read("begun").empty()) std::this_thread::sleep_for(milliseconds(1));
  const TempFolder folder;
  const pid_t other = start_as(folder, "mpirun", "/bin/sleep", "500", "500");
  end_daemon_later(busy, milliseconds(50));
  end_daemon_later(other, milliseconds(50));
  std::this_thread::sleep_for(milliseconds(500));
  for (const pid_t pid : {busy, other}) {
    EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "has ended";
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

}  // namespace
}  // namespace pando::launch
