// Instances that are processes of MPI. mpi.cc implements them; no_mpi.cc replaces it in builds
// without an MPI library.
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

// This process among all that the launcher started. It and its Messages may outlive finalize(), but
// then do nothing.
class MpiInstance : public Communicator {
 public:
  virtual int local_index() const = 0;  // among the instances on this machine
  virtual int local_count() const = 0;
  // A number that grows while this instance sends to others or waits for them.
  virtual int64_t activity() const = 0;

  // Makes progress on messages that MPI has not delivered yet. MPI works only inside its own calls,
  // and messages that are done() here can still be in transit: call this while waiting for anything
  // else.
  virtual void progress() = 0;
  // Ends MPI in this process once all processes have called this. Returns false if some have not
  // within `patience` (no value: no limit); MPI then continues. Throws CommError after fail().
  virtual bool finalize(std::optional<std::chrono::milliseconds> patience) = 0;
  // Ends all processes of the job, whatever they are doing; this one ends with `code`.
  [[noreturn]] virtual void abort(int code) = 0;
};

struct MpiOptions {
  size_t largest_piece = size_t{1} << 30;  // bytes; longer messages are split: MPI counts in int
};

// Starts MPI in this process unless it runs already; it is ended only if it was started here. All
// processes call this together and may do so again: messages of different instances do not mix.
// Throws CommError, and Unsupported in builds without MPI.
std::shared_ptr<MpiInstance> join_mpi(const MpiOptions& options = {});

// The MPI library that was built in, with its version, or "none".
std::string mpi_library();

}  // namespace pando::comm
