// What launchers tell a process through its environment: that it is one of several instances, and
// how replicas are divided among them.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace pando::comm {

// The value of an environment variable, or null. Tests hand in their own.
using Variables = std::function<const char*(const char* name)>;
const char* process_variable(const char* name);

// How this process was started as an instance of a job.
struct Launch {
  std::string launcher;          // for messages: "mpirun of Open MPI"
  std::string evidence;          // "OMPI_COMM_WORLD_SIZE=4"
  std::optional<int> instances;  // PMIx alone does not say
  bool introduces = true;        // whether it lets the processes find each other
};

// Nothing when no launcher started this process. Throws InvalidArgument for a broken variable.
std::optional<Launch> find_launch(const Variables& variables);

// What the variables POPDIST_* say.
struct Division {
  std::optional<int> total_replicas;
  std::optional<int> devices_per_replica;
  std::optional<int> local_instance_index;
};

// For instance `index` of so many. Throws InvalidArgument where a variable is no such number, where
// replicas do not divide among the instances, and where two variables contradict each other.
Division read_division(const Variables& variables, int instances, int index);

}  // namespace pando::comm
