// What an instance's parent does for the end of its job: nothing that was started stays.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>

#include <sys/types.h>

namespace pando::launch {

// Waits for the end of a child and gives the status of waitpid(). Kills one that has been stopped
// for longer than `longest_stop`: while it works the others miss it, but near the end of a job
// nobody may be left to do so.
int wait_for_program(pid_t pid, std::optional<std::chrono::milliseconds> longest_stop);

// Leaves a process behind that ends `daemon`, the parent of instances, if it is one of Open MPI
// (orted), without children, and still there after `patience`. A daemon that cannot tell its mpirun
// of a failure since the network is cut would stay for a quarter of an hour.
void end_daemon_later(pid_t daemon, std::chrono::milliseconds patience);

}  // namespace pando::launch
