// Watches an execution while it runs and reports every step that is done.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

#include "pando/runtime/executor.h"

namespace pando::train {

// A thread that calls `on_step(step)` once for each step of the execution, in order, after its
// values are complete. An exception of it ends the execution after the weight update in progress,
// and finish() rethrows it.
class StepWatch {
 public:
  StepWatch(const runtime::Executor& executor, std::function<void(int64_t step)> on_step);
  ~StepWatch();
  StepWatch(const StepWatch&) = delete;
  StepWatch& operator=(const StepWatch&) = delete;

  // Whether on_step has thrown.
  bool failed() const { return failed_; }
  // Called when the execution is over: reports the rest of its `steps` steps, then ends the thread.
  void finish(int64_t steps);

 private:
  void watch();
  void tell(int64_t done);

  const runtime::Executor& executor_;
  std::function<void(int64_t)> on_step_;
  std::atomic<bool> failed_{false};
  std::atomic<int64_t> last_{-1};
  int64_t told_ = 0;
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace pando::train
