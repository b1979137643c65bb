// SPDX-License-Identifier: MIT
#include "pando/launch/attempt.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/app/job/exit_code.h"
#include "pando/app/job/stop_signal.h"
#include "pando/launch/process.h"

namespace pando::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

// An instance of `pando train` ends within 5 s after it hears of a failure elsewhere.
constexpr seconds kFailureGrace{15};
// After one program has ended, the work of the others is lost. Open MPI ends them itself.
constexpr seconds kEndedGrace{5};
constexpr seconds kTerminateGrace{5};
// When a terminal is closed, its output fails before SIGHUP comes.
constexpr seconds kBrokenGrace{2};
constexpr seconds kDrainGrace{1};  // for output after mpirun has ended

class Attempt {
 public:
  Attempt(const std::vector<std::string>& command, MpiKind kind, SignalInbox& signals,
          JobOutput& output)
      : kind_(kind),
        signals_(signals),
        output_(output),
        process_(start_process(command, [&signals] { signals.restore(); })),
        out_(kind, Stream::out, [this](const OutputLine& line) { output_.take(line); }),
        err_(kind, Stream::err, [this](const OutputLine& line) { output_.take(line); }) {}
  ~Attempt() {
    close_end(process_.out);
    close_end(process_.err);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  AttemptResult run() {
    while (!is_over()) {
      wait();
      take_signals();
      take_output(process_.out, out_);
      take_output(process_.err, err_);
      look_after();
    }
    out_.finish();
    err_.finish();
    const AttemptResult result{
        .code = final_code(),
        .signal = first_signal_,
        .second_signal = second_signal_,
        .seconds = std::chrono::duration<double>(failed_.value_or(*ended_) - begin_).count()};
    if (result.code != 0) end_descendants();
    return result;
  }

 private:
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }

  bool is_over() const {
    if (!ended_) return false;
    return (process_.out < 0 && process_.err < 0) || Clock::now() > *ended_ + kDrainGrace;
  }

  // Waits for a signal or output, at most half a second, so that deadlines are checked. poll()
  // ignores a descriptor of -1.
  void wait() const {
    std::array<pollfd, 3> ends = {pollfd{signals_.descriptor(), POLLIN, 0},
                                  pollfd{process_.out, POLLIN, 0}, pollfd{process_.err, POLLIN, 0}};
    poll(ends.data(), ends.size(), 500);
  }

  static bool is_readable(int end) {
    pollfd one{end, POLLIN, 0};
    return end >= 0 && poll(&one, 1, 0) == 1;
  }

  // Reads only once per call: signals must not wait for a program that never stops writing.
  void take_output(int& end, TaggedLines& lines) {
    if (!is_readable(end)) return;
    const ssize_t got = read(end, buffer_.data(), buffer_.size());
    if (got <= 0) return close_end(end);
    lines.feed({buffer_.data(), static_cast<size_t>(got)});
  }

  void take_signals() {
    while (const auto number = signals_.next()) {
      if (*number == SIGCHLD) {
        take_ended();
      } else if (first_signal_ == 0) {
        first_signal_ = *number;
        signalled_ = Clock::now();
        tell_mpirun(SIGUSR1);
        output_.say(signal_name(*number) +
                    ": asked the instances to stop; another signal, after a second, ends them");
      } else if (Clock::now() > *signalled_ + app::kSameRequest) {
        second_signal_ = *number;
        terminate();
      }
    }
  }

  void take_ended() {
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
      if (pid != process_.pid) continue;  // an adopted orphan
      code_ = code_of(status);
      ended_ = Clock::now();
      is_killed_ = WIFSIGNALED(status) && !is_killed_by_us(WTERMSIG(status));
      if (is_killed_) output_.note_killed_mpirun(pid, exit_text(status));
    }
  }

  // SIGUSR1 kills an mpirun that has only just begun.
  bool is_killed_by_us(int number) const {
    return terminated_ || (first_signal_ != 0 && number == SIGUSR1);
  }

  void look_after() {
    const auto now = Clock::now();
    if (!failed_ && output_.failures().has_failed()) failed_ = now;
    if (failed_ && now > *failed_ + failure_grace()) terminate();
    if (!broken_ && output_.is_broken()) broken_ = now;
    if (broken_ && first_signal_ == 0 && now > *broken_ + kBrokenGrace) terminate();
    if (terminated_ && now > *terminated_ + kTerminateGrace && !ended_) {
      kill(-process_.pid, SIGKILL);
    }
  }

  seconds failure_grace() const {
    return is_from_launcher(*output_.failures().first()) ? kEndedGrace : kFailureGrace;
  }

  void terminate() {
    if (terminated_) return;
    terminated_ = Clock::now();
    tell_mpirun(SIGTERM);
  }

  // Continues processes of this machine that were stopped (SIGSTOP): they could not react.
  void tell_mpirun(int number) const {
    if (ended_) return;
    kill(process_.pid, number);
    for (const pid_t pid : descendants()) kill(pid, SIGCONT);
  }

  int final_code() const {
    if (second_signal_ != 0) return 128 + second_signal_;
    // A program without a handler is killed by the SIGUSR1 that we send in place of another signal.
    if (first_signal_ != 0 && code_ == 128 + SIGUSR1) return 128 + first_signal_;
    const FailureLog& failures = output_.failures();
    // Programs that saved and stopped have reported it; mpirun returns other codes after a signal.
    if (failures.has_stopped()) return app::kStopped;
    if (code_ == 0 || is_killed_) return code_;
    // If a host is lost or out of reach, mpirun returns codes that mean something else.
    if (failures.first() && failures.first()->instance < 0) return app::kFailed;
    return kind_ == MpiKind::hydra ? failures.first_code().value_or(code_) : code_;
  }

  MpiKind kind_;
  SignalInbox& signals_;
  JobOutput& output_;
  Clock::time_point begin_ = Clock::now();
  Process process_;
  TaggedLines out_;
  TaggedLines err_;
  std::array<char, 65536> buffer_ = {};
  int first_signal_ = 0;
  int second_signal_ = 0;
  int code_ = 0;
  bool is_killed_ = false;  // mpirun itself, by somebody else
  std::optional<Clock::time_point> signalled_;
  std::optional<Clock::time_point> broken_;
  std::optional<Clock::time_point> ended_;
  std::optional<Clock::time_point> failed_;
  std::optional<Clock::time_point> terminated_;
};

}  // namespace

AttemptResult run_attempt(const std::vector<std::string>& command, MpiKind kind,
                          SignalInbox& signals, JobOutput& output) {
  return Attempt(command, kind, signals, output).run();
}

}  // namespace pando::launch
