// The mpirun that starts the instances: finding it, telling Open MPI from MPICH, its command line.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/launch/division.h"

namespace pando::launch {

enum class MpiKind { open_mpi, hydra };  // hydra: the launcher of MPICH and of those like it

// What hydra is told to put before every piece of output; %r is the index of the instance.
constexpr const char* kHydraPattern = "[1,%r]<mpi>:";

struct MpiRun {
  std::string path;
  MpiKind kind = MpiKind::open_mpi;
};

// The program of this name on PATH, or as a path; empty when there is none.
std::string find_on_path(const std::string& name);

// By name or path. Throws ResourceError with the remedy when there is none, or one of an unknown
// kind.
MpiRun find_mpirun(const std::string& name);

// By what `mpirun --version` prints. Throws ResourceError that names `path`.
MpiKind kind_of_mpirun(std::string_view version_text, const std::string& path);

using Variables = std::vector<std::pair<std::string, std::string>>;

struct LaunchContext {
  MpiRun mpirun;
  std::string pando;                      // this program; at the same place on every host
  bool is_root = false;                   // and mpirun has to be told
  Variables variables;                    // for all instances
  std::vector<std::string> passed_names;  // of this process's environment, for all instances
};

// What is the same for all instances: the POPDIST_ variables, the heartbeat, the job's name and the
// number of its restarts.
Variables job_variables(const RunOptions& options, const JobDivision& job, const std::string& name,
                        int restarts);

// Of the environment: PATH, LD_LIBRARY_PATH and what begins with POPDIST_ or PANDO_.
std::vector<std::string> passed_names(char** environment, const Variables& set);

// mpirun, its arguments, `pando run-instance`, the program.
std::vector<std::string> mpi_command(const RunOptions& options, const JobDivision& job,
                                     const LaunchContext& context);

// Whether the environment or the arguments allow Open MPI to run as root.
bool may_run_as_root(const RunOptions& options);

}  // namespace pando::launch
