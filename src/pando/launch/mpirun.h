// Finds the mpirun that starts the instances, tells Open MPI from MPICH, and builds its command
// line.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/launch/division.h"

namespace pando::launch {

enum class MpiKind { open_mpi, hydra };  // hydra: the launcher of MPICH and its relatives

// The tag that hydra puts before every piece of output; %r is the index of the instance.
constexpr const char* kHydraPattern = "[1,%r]<mpi>:";

struct MpiRun {
  std::string path;
  MpiKind kind = MpiKind::open_mpi;
};

// Searches PATH for a program, or checks it if `name` is a path; empty if there is none.
std::string find_on_path(const std::string& name);

// `name` is a name or a path. Throws ResourceError with the remedy if there is no such mpirun or
// its kind is unknown.
MpiRun find_mpirun(const std::string& name);

// Decides by the output of `mpirun --version`. Throws ResourceError that names `path`.
MpiKind kind_of_mpirun(std::string_view version_text, const std::string& path);

using Variables = std::vector<std::pair<std::string, std::string>>;

struct LaunchContext {
  MpiRun mpirun;
  std::string pando;                      // path of this program; the same on every host
  bool is_root = false;                   // this user is root, and mpirun needs --allow-run-as-root
  Variables variables;                    // for all instances
  std::vector<std::string> passed_names;  // from our own environment, for all instances
};

// The variables with the same value for all instances: the POPDIST_ variables, the heartbeat, the
// job's name and the number of its restarts.
Variables job_variables(const RunOptions& options, const JobDivision& job, const std::string& name,
                        int restarts);

// Names of `environment` to pass on: PATH, LD_LIBRARY_PATH and all that begin with POPDIST_ or
// PANDO_, without those in `set`.
std::vector<std::string> passed_names(char** environment, const Variables& set);

// The whole command: mpirun, its arguments, `pando run-instance`, the program.
std::vector<std::string> mpi_command(const RunOptions& options, const JobDivision& job,
                                     const LaunchContext& context);

// Whether the environment or the arguments allow Open MPI to run as root.
bool may_run_as_root(const RunOptions& options);

}  // namespace pando::launch
