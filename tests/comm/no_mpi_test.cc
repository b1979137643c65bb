// SPDX-License-Identifier: MIT
#include <cstdlib>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/comm/mpi.h"
#include "pando/comm/session.h"
#include "tests/support/expect_error.h"

namespace pando::comm {
namespace {

using testing_support::error_of;

TEST(NoMpi, SaysWhatToDo) {
  EXPECT_EQ(mpi_library(), "none");
  EXPECT_SAYS(error_of<Unsupported>([] { join_mpi(); }), "built without MPI");
}

TEST(NoMpi, OneOfSeveralProcessesDoesNotWorkAsIfItWereAlone) {
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  const std::string message = error_of<Unsupported>([] { process_session().join(); });
  unsetenv("OMPI_COMM_WORLD_SIZE");
  unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_SAYS(message, "mpirun of Open MPI");
  EXPECT_SAYS(message, "OMPI_COMM_WORLD_SIZE=2");
  EXPECT_SAYS(message, "built without MPI");
  process_session().join();
  EXPECT_EQ(current_job().communicator, nullptr);
  process_session().end(1, Ending::alone);
}

}  // namespace
}  // namespace pando::comm
