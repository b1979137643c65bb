// `pando run`: runs a job, from its options to its exit code.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>

#include "pando/launch/run_options.h"

namespace pando::launch {

// Prints the topology, exports the configuration, starts the instances, passes on their output and
// restarts them after a failure, as the options say. Returns the exit code of the job. Throws
// UsageError, ResourceError, IoError before anything is started.
int run_job(const RunOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pando::launch
