// Replaces mpi.cc in builds without an MPI library.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/comm/mpi.h"

namespace pando::comm {

std::shared_ptr<MpiInstance> join_mpi(const MpiOptions& /*options*/) {
  throw Unsupported(
      "this Pando was built without MPI, so its processes cannot work together; install an MPI "
      "library (on Debian libopenmpi-dev) and build it again, or start a single process");
}

std::string mpi_library() { return "none"; }

}  // namespace pando::comm
