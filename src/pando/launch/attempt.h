// One attempt to run a job: starts mpirun, passes on its output and our signals, waits for its end.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/launch/job_output.h"
#include "pando/launch/signal_inbox.h"

namespace pando::launch {

struct AttemptResult {
  int code = 0;           // exit code, as a shell reports it
  int signal = 0;         // first signal, which asked the instances to stop; 0: none
  int second_signal = 0;  // later signal, which ended the instances; 0: none
  double seconds = 0;     // time until the first failure, or else until the end
};

// Runs `command` (mpirun) to its end. The first signal asks all instances to stop: mpirun gets
// SIGUSR1 and forwards it; what was stopped (SIGSTOP) on this machine continues. Signals within
// app::kSameRequest are the same request, a later one ends mpirun. mpirun is also ended if an
// instance failed and mpirun does not end the others, or if nobody reads the output any more and no
// signal came. Leaves no process behind after a failure. Throws ResourceError.
AttemptResult run_attempt(const std::vector<std::string>& command, MpiKind kind,
                          SignalInbox& signals, JobOutput& output);

}  // namespace pando::launch
