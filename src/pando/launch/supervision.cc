// SPDX-License-Identifier: MIT
#include "pando/launch/supervision.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "pando/base/strings.h"

namespace pando::launch {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenLooks{50};  // polling interval
constexpr milliseconds kEndGrace{2000};

// Whether a stopped child is continued or ends in time. Does not reap a child that ended.
bool goes_on(pid_t pid, milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (Clock::now() < until) {
    siginfo_t info = {};
    const int wanted = WEXITED | WCONTINUED | WNOHANG | WNOWAIT;
    if (waitid(P_PID, static_cast<id_t>(pid), &info, wanted) != 0 || info.si_pid == pid) {
      waitid(P_PID, static_cast<id_t>(pid), &info, WCONTINUED | WNOHANG);
      return true;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return false;
}

// The words of /proc/<pid>/stat from the name on: name, state, parent, ...; empty if there is no
// such process.
std::vector<std::string> stat_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t begin = line.find('(');
  const size_t end = line.rfind(')');
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::vector<std::string> words = split(trim(std::string_view(line).substr(end + 1)), ' ');
  words.insert(words.begin(), line.substr(begin + 1, end - begin - 1));
  return words;
}

bool is_daemon(pid_t pid) {
  const std::vector<std::string> stat = stat_of(std::to_string(pid));
  return stat.size() > 2 && stat[0] == "orted" && stat[1] != "Z";
}

bool has_children(pid_t pid) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::vector<std::string> stat = stat_of(entry.path().filename().string());
    if (stat.size() > 2 && stat[2] == std::to_string(pid) && stat[1] != "Z") return true;
  }
  return false;
}

bool ends_within(pid_t daemon, milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (is_daemon(daemon)) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

}  // namespace

int wait_for_program(pid_t pid, std::optional<milliseconds> longest_stop) {
  while (true) {
    int status = 0;
    const pid_t found = waitpid(pid, &status, longest_stop ? WUNTRACED : 0);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0 || !WIFSTOPPED(status)) return status;
    if (!goes_on(pid, *longest_stop)) kill(pid, SIGKILL);
  }
}

void end_daemon_later(pid_t daemon, milliseconds patience) {
  if (!is_daemon(daemon) || fork() != 0) return;
  setsid();
  for (int each = 0; each < 3; ++each) close(each);  // the daemon waits until its pipes are closed
  if (!ends_within(daemon, patience) && !has_children(daemon)) {
    kill(daemon, SIGTERM);
    if (!ends_within(daemon, kEndGrace)) kill(daemon, SIGKILL);
  }
  _exit(0);
}

}  // namespace pando::launch
