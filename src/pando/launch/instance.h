// `pando run-instance`: mpirun starts it on every host for each instance. It sets the environment
// and cores of its instance, runs the program and reports to the launcher how the program ended.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "pando/launch/mpirun.h"

namespace pando::launch {

struct InstancePlace {
  int index = 0;
  int local_index = 0;  // among the instances of its host
  int local_count = 1;
};

using Lookup = std::function<std::optional<std::string>(const std::string&)>;

// Reads the variables of Open MPI, MPICH or Slurm; derives what they do not give from the number of
// instances on each host. Throws InvalidArgument if none of them gives the index.
InstancePlace find_place(const Lookup& environment, int instances_per_host);

// The environment variables whose values differ between instances.
Variables instance_variables(const Lookup& environment, const InstancePlace& place);

// Returns the exit code of the program, 128 plus the number of the signal that ended it, 127 if it
// does not exist, or 126 if it cannot be executed. Throws UsageError, InvalidArgument,
// ResourceError.
int run_instance(std::span<const std::string> args);

}  // namespace pando::launch
