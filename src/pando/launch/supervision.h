// Makes sure that no process of an instance stays behind at the end of its job.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>

#include <sys/types.h>

namespace pando::launch {

// Waits for the end of a child and returns the status of waitpid(). Kills a child that has been
// stopped (SIGSTOP) for longer than `longest_stop`: usually the other instances notice its silence,
// but near the end of a job none of them may be left to do so.
int wait_for_program(pid_t pid, std::optional<std::chrono::milliseconds> longest_stop);

// Starts a process that ends `daemon`, the parent of instances, if after `patience` it still runs,
// is a daemon of Open MPI (orted) and has no children. If the network is cut, a daemon cannot
// report a failure to its mpirun and would stay for a quarter of an hour.
void end_daemon_later(pid_t daemon, std::chrono::milliseconds patience);

}  // namespace pando::launch
