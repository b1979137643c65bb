// `pando run-instance`: what mpirun starts on every host for each instance. It gives the program
// its part of the job (environment, cores), runs it and tells the launcher how it ended.
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

// By the variables of Open MPI, MPICH or Slurm; what they do not say follows from the number of
// instances on each host. Throws InvalidArgument when none of them tells the index.
InstancePlace find_place(const Lookup& environment, int instances_per_host);

// The variables of this instance alone.
Variables instance_variables(const Lookup& environment, const InstancePlace& place);

// Gives the exit code of the program, 128 and the number of the signal that ended it, 127 when it
// cannot be started. Throws UsageError, InvalidArgument, ResourceError.
int run_instance(std::span<const std::string> args);

}  // namespace pando::launch
