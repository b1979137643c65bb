// A thread that has something to compute, and helpers that compute it together with it: for work of
// microseconds, so helpers spin for a while before they sleep.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "pando/runtime/machine/barrier.h"

namespace pando::runtime {

// One caller of run() at a time. Helpers flush denormal numbers to zero.
class HelperTeam {
 public:
  // `size` counts the caller; the others start here. Throws ResourceError.
  HelperTeam(int size, int spins);
  ~HelperTeam();
  HelperTeam(const HelperTeam&) = delete;
  HelperTeam& operator=(const HelperTeam&) = delete;

  int size() const { return size_; }

  // Calls task(0) on this thread and task(1), ..., task(size - 1) on the helpers, and returns when
  // all have returned. Allocates nothing. `task` must not throw.
  template <typename Task>
  void run(const Task& task) {
    start(
        {[](const void* object, int index) { (*static_cast<const Task*>(object))(index); }, &task});
    task(0);
    done_.arrive_and_wait();
  }

 private:
  struct Call {
    void (*function)(const void* object, int index) = nullptr;
    const void* object = nullptr;
  };

  void start(Call call);
  void work(int index);
  void stop();

  const int size_;
  const int spins_;
  Call call_;
  bool stopping_ = false;  // like call_, published by round_
  alignas(64) std::atomic<uint32_t> round_{0};
  Barrier done_;
  std::vector<std::jthread> threads_;
};

}  // namespace pando::runtime
