// Starts a process with its output in pipes, and ends all descendants of this process.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace pando::launch {

struct Process {
  pid_t pid = 0;
  int out = -1;  // read end of the pipe
  int err = -1;
};

// Starts a program (a path) in a process group of its own; it gets SIGTERM if this process dies.
// `prepare` runs in the new process. It inherits our standard input unless that is a terminal, from
// which a process group in the background cannot read. Throws ResourceError.
Process start_process(const std::vector<std::string>& words, const std::function<void()>& prepare);

// Makes orphaned descendants children of this process, so that none gets lost.
void adopt_orphans();

// Running processes that descend from this one.
std::vector<pid_t> descendants();

// Waits a while for all descendants to end by themselves, then sends SIGTERM, then SIGKILL, and
// waits for their end.
void end_descendants();

// The exit code that a shell reports for a status of waitpid().
int code_of(int wait_status);

}  // namespace pando::launch
