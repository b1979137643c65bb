// SPDX-License-Identifier: MIT
#include "pando/benchmark/command_run.h"

#include <array>
#include <chrono>
#include <cstdlib>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/benchmark/processor_watch.h"
#include "pando/launch/process.h"

namespace pando::benchmark {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kEndGrace{5};    // after SIGTERM; `pando train` saves its state
constexpr std::chrono::seconds kDrainGrace{1};  // for output after the program has ended
constexpr milliseconds kLongestWait{200};

class CommandRun {
 public:
  CommandRun(const CommandRequest& request, launch::SignalInbox& signals)
      : request_(request), signals_(signals), process_(start()) {}
  ~CommandRun() {
    close_end(process_.out);
    close_end(process_.err);
  }
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  CommandEnd run() {
    try {
      while (!is_over()) step();
    } catch (...) {
      stop();
      launch::end_descendants();
      throw;
    }
    end_.left_behind = static_cast<int>(launch::descendants().size());
    if (end_.left_behind > 0) launch::end_descendants();
    end_.other_cores = watch_.other_cores();
    return end_;
  }

 private:
  launch::Process start() {
    return launch::start_process(request_.words, [this] {
      signals_.restore();
      const int none = open("/dev/null", O_RDONLY);
      if (none >= 0) dup2(none, STDIN_FILENO);
      if (chdir(request_.folder.c_str()) != 0) _exit(126);
      for (const auto& [name, value] : request_.env) setenv(name.c_str(), value.c_str(), 1);
    });
  }

  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }

  bool is_over() const {
    if (!ended_) return false;
    return (process_.out < 0 && process_.err < 0) || Clock::now() > *ended_ + kDrainGrace;
  }

  void step() {
    std::array<pollfd, 3> ends = {pollfd{signals_.descriptor(), POLLIN, 0},
                                  pollfd{process_.out, POLLIN, 0}, pollfd{process_.err, POLLIN, 0}};
    poll(ends.data(), ends.size(), static_cast<int>(kLongestWait.count()));
    take_signals();
    // Once per step: signals and the time limit must not wait for a program that never stops
    // writing.
    if (ends[1].revents != 0) take_output(process_.out, Stream::out);
    if (ends[2].revents != 0) take_output(process_.err, Stream::err);
    look_at_clock();
  }

  void take_output(int& end, Stream stream) {
    const ssize_t got = read(end, buffer_.data(), buffer_.size());
    if (got <= 0) return close_end(end);
    request_.take_output(stream, {buffer_.data(), static_cast<size_t>(got)});
  }

  void take_signals() {
    while (const auto number = signals_.next()) {
      if (*number == SIGCHLD) {
        take_ended();
      } else {
        if (end_.stop_signal == 0) end_.stop_signal = *number;
        stop();
      }
    }
  }

  void take_ended() {
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
      if (pid != process_.pid) continue;  // an adopted orphan
      ended_ = Clock::now();
      end_.seconds = std::chrono::duration<double>(*ended_ - begin_).count();
      end_.code = launch::code_of(status);
      if (WIFSIGNALED(status)) end_.killed_by = WTERMSIG(status);
    }
  }

  void look_at_clock() {
    const auto now = Clock::now();
    const std::chrono::duration<double> spent = now - begin_;
    if (request_.show_progress && !ended_ && spent.count() >= next_progress_) {
      request_.show_progress(spent.count());
      next_progress_ = spent.count() + request_.progress_period;
    }
    if (request_.timeout && spent.count() > *request_.timeout && !ended_ && !end_.timed_out) {
      end_.timed_out = true;
      stop();
    }
    if (stopped_ && !ended_ && now > *stopped_ + kEndGrace) tell_all(SIGKILL);
  }

  void stop() {
    if (stopped_) return;
    stopped_ = Clock::now();
    tell_all(SIGTERM);
  }

  // Continues processes that were stopped (SIGSTOP): they could not react.
  void tell_all(int number) const {
    if (ended_) return;
    for (const pid_t pid : launch::descendants()) {
      kill(pid, number);
      kill(pid, SIGCONT);
    }
  }

  const CommandRequest& request_;
  launch::SignalInbox& signals_;
  ProcessorWatch watch_;
  Clock::time_point begin_ = Clock::now();
  launch::Process process_;
  std::array<char, 65536> buffer_ = {};
  std::optional<Clock::time_point> ended_;
  std::optional<Clock::time_point> stopped_;
  double next_progress_ = 0;
  CommandEnd end_;
};

}  // namespace

CommandEnd run_command(const CommandRequest& request, launch::SignalInbox& signals) {
  return CommandRun(request, signals).run();
}

}  // namespace pando::benchmark
