// SIGINT, SIGTERM, SIGHUP and SIGUSR1 as requests to stop: the first signal sets a flag, which
// training checks between weight updates and a download checks continuously; the second signal ends
// the process at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string>

namespace pando::app {

std::string signal_name(int signal);  // "SIGUSR1"; "signal 9" for other signals

// Blocks these signals until the next StopSignal exists, for a process that may receive one from
// its launcher during start-up. Requires: the process has no other threads yet.
void hold_stop_signals();

// Handles the signals during its lifetime, then restores the former handlers. Only one object may
// exist at a time.
class StopSignal {
 public:
  static constexpr const char* kStopsTraining =
      "\nstopping after this weight update; another signal ends at once\n";
  // Writes `answer` to standard error when the first signal comes. Requires: `answer` is a string
  // literal.
  explicit StopSignal(const char* answer = kStopsTraining);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The number of the first signal received, or 0.
  int received() const;
  // Becomes true when the first signal is received. Valid until the program ends.
  const std::atomic<bool>& wanted() const;
};

}  // namespace pando::app
