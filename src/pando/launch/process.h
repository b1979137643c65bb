// Processes: starting one with its output in pipes, and ending all that descend from this one.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace pando::launch {

struct Process {
  pid_t pid = 0;
  int out = -1;  // the end of the pipe to read from
  int err = -1;
};

// Starts a program (a path) in a process group of its own; it gets SIGTERM should this process die.
// `prepare` runs in the new process. Its input is ours unless that is a terminal, from which a
// process group in the background cannot read. Throws ResourceError.
Process start_process(const std::vector<std::string>& words, const std::function<void()>& prepare);

// Whose parents end become children of this process, so that none gets lost.
void adopt_orphans();

// Running processes that descend from this one.
std::vector<pid_t> descendants();

// Lets them end by themselves for a while, then asks, then kills them, and waits for their end.
void end_descendants();

// The exit code a shell would give for a status of waitpid().
int code_of(int wait_status);

}  // namespace pando::launch
