// Runs a function on several instances of a job, which are threads of the test or processes.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "pando/comm/job.h"
#include "tests/support/in_process.h"

namespace pando::testing_support {

// Each thread is within the JobScope of its instance. The exception of the lowest instance that has
// one reaches the caller; the other instances fail with its cause, so that none waits for an
// instance that is gone. Under mpirun, runs the body once, on the instance of this process, if
// there are `count` instances.
inline void on_instances(int count, const std::function<void(comm::Communicator&)>& body) {
  if (const auto own = comm::current_job().communicator) {
    if (own->size() == count) body(*own);
    return;
  }
  const auto communicators = comm::in_process_instances(count);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      const auto at = static_cast<size_t>(i);
      const comm::JobScope scope(
          {.communicator = communicators[at], .local_index = i, .local_count = count});
      try {
        body(*communicators[at]);
      } catch (const std::exception& error) {
        errors[at] = std::current_exception();
        for (const auto& other : communicators) other->fail(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace pando::testing_support
