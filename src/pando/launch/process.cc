// SPDX-License-Identifier: MIT
#include "pando/launch/process.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/base/threads.h"

namespace pando::launch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{2000};
constexpr milliseconds kBetweenPolls{20};

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw ResourceError("pando run: cannot make a pipe: ", strerror(errno));
    }
    read_end = ends[0];
    write_end = ends[1];
  }
};

[[noreturn]] void become(std::vector<char*>& arguments, const Pipe& out, const Pipe& err) {
  dup2(out.write_end, STDOUT_FILENO);
  dup2(err.write_end, STDERR_FILENO);
  if (isatty(STDIN_FILENO) == 1) {
    const int none = open("/dev/null", O_RDONLY);
    if (none >= 0) dup2(none, STDIN_FILENO);
  }
  execv(arguments.front(), arguments.data());
  _exit(127);
}

// Reads the parent of a process from /proc/<pid>/stat: "12 (a name) S 1 ...", where the name may
// contain anything. Returns 0 for a process that has ended (a zombie).
pid_t parent_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(") ");
  if (end == std::string::npos || end + 4 >= text.size() || text[end + 2] == 'Z') return 0;
  pid_t parent = 0;
  std::from_chars(text.data() + end + 4, text.data() + text.size(), parent);
  return parent;
}

void take_notice_of_ended() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

bool are_gone_within(milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    take_notice_of_ended();
    if (descendants().empty()) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kBetweenPolls);
  }
}

}  // namespace

Process start_process(const std::vector<std::string>& words, const std::function<void()>& prepare) {
  std::vector<std::string> kept = words;
  std::vector<char*> arguments;
  for (std::string& word : kept) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const Pipe out;
  const Pipe err;
  const pid_t pid = fork();
  if (pid < 0) {
    throw ResourceError("pando run: cannot start a process: ", strerror(errno), "; ",
                        thread_limit_hint());
  }
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prepare();
    become(arguments, out, err);
  }
  setpgid(pid, pid);  // in parent and child, because either may run first
  close(out.write_end);
  close(err.write_end);
  return {.pid = pid, .out = out.read_end, .err = err.read_end};
}

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> descendants() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    children.emplace(parent_of(entry.path()), pid);
  }
  std::vector<pid_t> found = {getpid()};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

void end_descendants() {
  if (are_gone_within(kPatience)) return;
  for (const int number : {SIGTERM, SIGKILL}) {
    for (const pid_t pid : descendants()) {
      kill(pid, SIGCONT);
      kill(pid, number);
    }
    if (are_gone_within(kPatience)) return;
  }
}

int code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace pando::launch
