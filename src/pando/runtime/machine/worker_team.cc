// SPDX-License-Identifier: MIT
#include "pando/runtime/machine/worker_team.h"

#include <string>

#include "pando/base/error.h"
#include "pando/base/threads.h"
#include "pando/kernels/denormals.h"
#include "pando/runtime/machine/barrier.h"

namespace pando::runtime {

WorkerTeam::WorkerTeam(const TeamOptions& options)
    : device_workers_(options.device_workers), spins_(options.shares_cores ? 0 : kSpins) {
  if (device_workers_.empty()) {
    throw InvalidArgument("worker team: expected at least 1 device, got none");
  }
  for (size_t device = 0; device < device_workers_.size(); ++device) {
    if (device_workers_[device] < 1) {
      throw InvalidArgument("worker team: expected at least 1 worker on device ", device, ", got ",
                            device_workers_[device]);
    }
    first_workers_.push_back(static_cast<int>(device_of_.size()));
    device_of_.insert(device_of_.end(), static_cast<size_t>(device_workers_[device]),
                      static_cast<int>(device));
  }
  errors_.resize(device_of_.size());
  for (int worker = 0; worker < static_cast<int>(device_of_.size()); ++worker) {
    const int core = options.cores.empty()
                         ? -1
                         : options.cores[static_cast<size_t>(worker) % options.cores.size()];
    try {
      threads_.push_back(start_thread(
          name_of(worker), [this, worker, core](const std::stop_token&) { work(worker, core); }));
    } catch (...) {
      stop();
      throw;
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
  for (std::jthread& thread : threads_) thread.join();
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

const std::vector<profile::TraceTrack*>& WorkerTeam::tracks(profile::Trace& trace) {
  if (trace_ == trace.id()) return tracks_;
  tracks_.assign(device_of_.size(), nullptr);
  // Each worker creates its own track, so that the memory is near it.
  run([&](int worker) {
    const int device = device_of(worker);
    tracks_[static_cast<size_t>(worker)] =
        &trace.add_track(concat("worker ", worker - first_worker(device)), device);
  });
  trace_ = trace.id();
  return tracks_;
}

std::string WorkerTeam::name_of(int worker) const {
  const int device = device_of(worker);
  return concat("pando-", device, ".", worker - first_worker(device));
}

void WorkerTeam::work(int worker, int core) {
  if (core >= 0) pin_this_thread({&core, 1});
  kernels::flush_denormals();
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
