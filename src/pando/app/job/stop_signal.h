// SIGINT, SIGTERM, SIGHUP and SIGUSR1 as requests to stop: the first signal sets a flag, which
// training checks between weight updates and a download checks continuously. Signals within one
// second of the first are the same request, because senders repeat themselves: `timeout` signals
// its child and then the group of the child, a closed terminal sends SIGHUP twice, systemd sends
// SIGTERM and SIGHUP. A later signal ends the process at once. SIGPIPE, which comes when nobody
// reads the output any more, is a request too and never ends the process: in `pando train | tee
// log`, Ctrl-C ends `tee` before the weights are saved.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace pando::app {

std::string signal_name(int signal);  // "SIGUSR1"; "signal 9" for other signals

// Signals that come within this time after the first one, of any kind, repeat its request.
constexpr std::chrono::seconds kSameRequest{1};

// Blocks these signals until the next StopSignal exists, for a process that may receive one from
// its launcher during start-up. Requires: the process has no other threads yet.
void hold_stop_signals();

// Handles the signals during its lifetime, then restores the former handlers; repetitions of a
// request are ignored even then. Objects whose lifetimes overlap share one request, which the
// outer one may have received before the inner one begins; the inner one only writes another
// answer.
class StopSignal {
 public:
  enum class ClosedOutput { stops, as_before };
  static constexpr const char* kStopsTraining =
      "\nstopping after this weight update; another signal, after a second, ends at once\n";
  // Writes `answer` to standard error when the first signal comes. Requires: `answer` is a string
  // literal. With ClosedOutput::as_before, SIGPIPE keeps its effect.
  explicit StopSignal(const char* answer = kStopsTraining,
                      ClosedOutput closed_output = ClosedOutput::stops);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The number of the first signal received, or 0.
  int received() const;
  // Becomes true when the first signal is received. Valid until the program ends.
  const std::atomic<bool>& wanted() const;
  // Records a request that another process received and reported. If the same signal arrives here
  // later, it counts as a repetition of that request.
  void expect_repetition() const;

 private:
  const char* former_answer_;
};

}  // namespace pando::app
