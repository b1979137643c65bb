// The threads of one device: one pinned worker per core, asleep between executions.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "pando/runtime/barrier.h"

namespace pando::runtime {

struct TeamOptions {
  int workers = 1;
  // Hardware threads to pin the workers to, one each, in turn; empty: not pinned.
  std::vector<int> cores;
};

// run() hands one task to all workers and returns when all are done; it may be called from one
// thread at a time. A worker's exception reaches the caller of run(): the first one by worker
// number. A task that throws must not leave others waiting at the barrier. Workers flush
// denormal numbers to zero.
class WorkerTeam {
 public:
  explicit WorkerTeam(const TeamOptions& options);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }
  Barrier& barrier() { return barrier_; }
  void run(const std::function<void(int worker)>& task);

 private:
  void work(int worker, int core);
  void stop();  // ends and joins the threads that run

  Barrier barrier_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(int)>* task_ = nullptr;
  uint64_t round_ = 0;
  int running_ = 0;
  bool stopping_ = false;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
};

}  // namespace pando::runtime
