// The threads of all devices: one pinned worker per core, asleep between executions.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "pando/profile/trace.h"

namespace pando::runtime {

struct TeamOptions {
  std::vector<int> device_workers = {1};  // how many workers each device has
  // Hardware threads to pin the workers to, one each, in turn; empty: not pinned.
  std::vector<int> cores;
  // Whether workers share cores with each other: waiting workers then sleep without spinning.
  bool shares_cores = false;
};

// run() hands one task to all workers and returns when all are done; it may be called from one
// thread at a time. A worker's exception reaches the caller of run(): the first one by worker
// number. A task that throws must not leave others waiting. Workers are numbered device by device
// and flush denormal numbers to zero.
class WorkerTeam {
 public:
  explicit WorkerTeam(const TeamOptions& options);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }
  int devices() const { return static_cast<int>(device_workers_.size()); }
  int workers_of(int device) const { return device_workers_[static_cast<size_t>(device)]; }
  int first_worker(int device) const { return first_workers_[static_cast<size_t>(device)]; }
  int device_of(int worker) const { return device_of_[static_cast<size_t>(worker)]; }
  int spins() const { return spins_; }  // before a waiting worker sleeps
  // Where each worker records its events; made at the first call for a trace.
  const std::vector<profile::TraceTrack*>& tracks(profile::Trace& trace);
  void run(const std::function<void(int worker)>& task);

 private:
  std::string name_of(int worker) const;
  void work(int worker, int core);
  void stop();  // ends and joins the threads that run

  const std::vector<int> device_workers_;
  std::vector<int> first_workers_;
  std::vector<int> device_of_;
  int spins_ = 0;
  uint64_t trace_ = 0;  // the trace of tracks_; 0: none
  std::vector<profile::TraceTrack*> tracks_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(int)>* task_ = nullptr;
  uint64_t round_ = 0;
  int running_ = 0;
  bool stopping_ = false;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::jthread> threads_;
};

}  // namespace pando::runtime
