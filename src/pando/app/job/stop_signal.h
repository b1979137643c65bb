// SIGINT, SIGTERM, SIGHUP and SIGUSR1 as a wish to stop: the first sets a flag that training looks
// at between weight updates and a download all the time, the second ends the process at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string>

namespace pando::app {

std::string signal_name(int signal);  // "SIGUSR1"; "signal 9" for one that is none of these

// From now on these signals wait for the next StopSignal: for a process whose launcher may be told
// to stop while it still starts. Requires: no other threads yet.
void hold_stop_signals();

// Handles the signals as long as it lives, then restores what was before. One at a time.
class StopSignal {
 public:
  static constexpr const char* kStopsTraining =
      "\nstopping after this weight update; another signal ends at once\n";
  // Answers the first signal with `answer` on standard error. Requires: a literal.
  explicit StopSignal(const char* answer = kStopsTraining);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The number of the first signal that came, or 0.
  int received() const;
  // Set as soon as received() is not 0; lives as long as the program.
  const std::atomic<bool>& wanted() const;
};

}  // namespace pando::app
