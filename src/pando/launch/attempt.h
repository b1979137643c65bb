// One attempt at a job: mpirun from its start to its end, with output and signals passed on.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/launch/job_output.h"
#include "pando/launch/signal_inbox.h"

namespace pando::launch {

struct AttemptResult {
  int code = 0;           // as a shell would give it
  int signal = 0;         // that asked the instances to stop; 0: none
  int second_signal = 0;  // that ended them
  double seconds = 0;     // until the first failure or the end
};

// The first signal asks all instances to stop, by SIGUSR1 to mpirun, which passes it on; the second
// ends mpirun. So does an instance that failed while mpirun does not end the others, and output
// that nobody reads. Leaves no process behind after a failure. Throws ResourceError.
AttemptResult run_attempt(const std::vector<std::string>& command, MpiKind kind,
                          SignalInbox& signals, JobOutput& output);

}  // namespace pando::launch
