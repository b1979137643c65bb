// SPDX-License-Identifier: MIT
#include "pando/runtime/worker_team.h"

#include <string>
#include <system_error>

#include <pthread.h>
#include <sched.h>

#include "pando/base/error.h"
#include "pando/kernels/denormals.h"

namespace pando::runtime {

namespace {

// Pinning is a matter of speed: where the system refuses it, the worker runs unpinned.
void pin_to(int core) {
  if (core < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

int checked_workers(const TeamOptions& options) {
  if (options.workers >= 1) return options.workers;
  throw InvalidArgument("a device wants at least 1 worker, got ", options.workers);
}

}  // namespace

WorkerTeam::WorkerTeam(const TeamOptions& options)
    : barrier_(checked_workers(options)), errors_(static_cast<size_t>(options.workers)) {
  for (int worker = 0; worker < options.workers; ++worker) {
    const int core = options.cores.empty()
                         ? -1
                         : options.cores[static_cast<size_t>(worker) % options.cores.size()];
    try {
      threads_.emplace_back([this, worker, core] { work(worker, core); });
    } catch (const std::system_error& error) {
      stop();
      throw ResourceError("cannot start worker ", worker, " of ", options.workers, ": ",
                          error.what());
    }
  }
}

WorkerTeam::~WorkerTeam() { stop(); }

void WorkerTeam::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::run(const std::function<void(int worker)>& task) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  running_ = size();
  ++round_;
  wake_.notify_all();
  done_.wait(lock, [&] { return running_ == 0; });
  task_ = nullptr;
  std::exception_ptr first;
  for (std::exception_ptr& error : errors_) {
    if (first == nullptr) first = error;
    error = nullptr;
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void WorkerTeam::work(int worker, int core) {
  pin_to(core);
  kernels::flush_denormals();
  pthread_setname_np(pthread_self(), ("pando-" + std::to_string(worker)).c_str());
  uint64_t seen = 0;
  while (true) {
    const std::function<void(int)>* task = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
      task = task_;
    }
    try {
      (*task)(worker);
    } catch (...) {
      errors_[static_cast<size_t>(worker)] = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) done_.notify_all();
  }
}

}  // namespace pando::runtime
