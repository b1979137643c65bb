// The job that this process is an instance of. If a launcher started the process, its Session
// (session.h) joins the job, once.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>

#include "pando/comm/communicator.h"

namespace pando::comm {

struct Job {
  std::shared_ptr<Communicator> communicator;  // null: this process is alone
  int local_index = 0;                         // among the instances of this machine
  int local_count = 1;
  // Instances that may run on the same cores, because they are not bound to cores, divide them.
  int core_share = 0;
  int core_shares = 1;
  std::optional<int> total_replicas;  // as the launcher says
  std::optional<int> devices_per_replica;

  // Whether this instance writes and prints what all instances have in common.
  bool is_first() const { return communicator == nullptr || communicator->rank() == 0; }
};

// The job of this thread if it is within a JobScope, else that of the process.
const Job& current_job();

// Makes this thread an instance of that job as long as it lives: for tests, whose instances are
// threads.
class JobScope {
 public:
  explicit JobScope(Job job);
  ~JobScope();
  JobScope(const JobScope&) = delete;
  JobScope& operator=(const JobScope&) = delete;

 private:
  Job job_;
  const Job* previous_;
};

}  // namespace pando::comm
