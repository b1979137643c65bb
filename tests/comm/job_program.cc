// A program that is started as several instances, for job_test.py; its argument says what it does.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/base/error.h"
#include "pando/comm/dist.h"
#include "pando/comm/session.h"

namespace {

namespace dist = pando::dist;

// Writes one line in one call, so that the lines of the instances do not mix.
void tell() {
  std::vector<double> indices = {static_cast<double>(dist::instance_index())};
  dist::all_reduce(indices);
  std::cout << pando::concat("instance ", dist::instance_index(), " of ", dist::num_instances(),
                             ", local ", dist::local_instance_index(), ", replicas ",
                             dist::replica_index_offset(), "+", dist::num_local_replicas(), " of ",
                             dist::num_total_replicas(), ", devices ", dist::devices_per_replica(),
                             ", sum ", indices[0], "\n");
}

int run(const std::string& what) {
  if (what == "own_mpi") MPI_Init(nullptr, nullptr);
  int level = 0;
  if (what == "own_mpi_threads") {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  }
  dist::init();
  tell();
  if (what == "own_mpi_threads") MPI_Finalize();
  if (what == "fail" && dist::instance_index() == 1) return 7;  // the others wait
  if (what == "fail") dist::barrier();
  while (what == "hang" && dist::instance_index() == 1) pause();
  if (what == "hang") dist::barrier();
  if (what == "stop") {
    pando::comm::process_session().end(75, pando::comm::Ending::together);
    return 75;
  }
  if (what == "fork") {
    const pid_t child = fork();
    if (child == 0) std::exit(5);
    waitpid(child, nullptr, 0);
    dist::barrier();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "");
  } catch (const pando::Error& error) {
    std::cerr << pando::concat("error: ", error.what(), "\n");
    return 1;
  }
}
