// What launchers tell a process through its environment: that it is one of several instances, and
// how replicas are divided among them.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace pando::comm {

// The value of an environment variable, or null. Tests pass their own function.
using Variables = std::function<const char*(const char* name)>;
const char* process_variable(const char* name);

// How this process was started as an instance of a job.
struct Launch {
  std::string launcher;          // for messages: "mpirun of Open MPI"
  std::string evidence;          // "OMPI_COMM_WORLD_SIZE=4"
  std::optional<int> instances;  // absent: PMIx alone does not say
  bool introduces = true;        // whether it lets the processes find each other
};

// Returns nothing if no launcher started this process. Throws InvalidArgument for a broken
// variable.
std::optional<Launch> find_launch(const Variables& variables);

// The values of the variables POPDIST_*.
struct Division {
  std::optional<int> total_replicas;
  std::optional<int> devices_per_replica;
  std::optional<int> local_instance_index;
};

// Reads them for instance `index` of `instances`. Throws InvalidArgument if a variable is not a
// valid number, if replicas do not divide evenly among the instances, or if two variables
// contradict each other.
Division read_division(const Variables& variables, int instances, int index);

}  // namespace pando::comm
