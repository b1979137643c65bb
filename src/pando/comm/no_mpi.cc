// In place of mpi.cc where there is no MPI library.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/comm/mpi.h"

namespace pando::comm {

std::shared_ptr<MpiInstance> join_mpi(const MpiOptions& /*options*/) {
  throw Unsupported(
      "this Pando was built without MPI, so that its processes cannot work together; install an "
      "MPI library (on Debian libopenmpi-dev) and build it again, or start it once");
}

std::string mpi_library() { return "none"; }

}  // namespace pando::comm
