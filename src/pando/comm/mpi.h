// Instances that are processes of MPI. The sources mpi.cc and no_mpi.cc are this, with and without
// an MPI library.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pando/comm/communicator.h"

namespace pando::comm {

// This process among all that the launcher started. Its Messages and it may outlive finalize(), but
// then do nothing more.
class MpiInstance : public Communicator {
 public:
  virtual int local_index() const = 0;  // among the instances on this machine
  virtual int local_count() const = 0;
  // A number that grows while this instance sends to others or waits for them.
  virtual int64_t activity() const = 0;

  // Lets what was handed to MPI travel on. Messages that are done() here can still be on their way,
  // and MPI only works while it is called: to be called while waiting for anything else.
  virtual void progress() = 0;
  // The end of MPI in this process, once all have come here. False when some have not after
  // `patience` (no value: waits on); then MPI goes on. Throws CommError after fail().
  virtual bool finalize(std::optional<std::chrono::milliseconds> patience) = 0;
  // Ends all processes of the job, this one with that code; whatever they do at the moment.
  [[noreturn]] virtual void abort(int code) = 0;
};

struct MpiOptions {
  size_t largest_piece = size_t{1} << 30;  // bytes; longer messages go in pieces: MPI counts by int
};

// Starts MPI in this process, unless that has been done; who started it ends it. All processes call
// it together, and may do so again: messages of different instances of it do not mix. Throws
// CommError, and Unsupported where MPI was not built in.
std::shared_ptr<MpiInstance> join_mpi(const MpiOptions& options = {});

// The MPI library that was built in, with its version, or "none".
std::string mpi_library();

}  // namespace pando::comm
