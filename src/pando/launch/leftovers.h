// Removes the files that a daemon of Open MPI (mpirun or orted) leaves on its host when it is
// killed.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace pando::launch {

// Called by an instance whose daemon has died before it: the job cannot continue. Removes the
// daemon's folder of the job, and the segments of the job in `shared_memory` (/dev/shm). Several
// instances may call it at the same time. Does nothing if the daemon is not of Open MPI; what
// cannot be removed stays.
void remove_leftovers(
    const std::function<std::optional<std::string>(const std::string& name)>& environment,
    const std::string& shared_memory);

}  // namespace pando::launch
