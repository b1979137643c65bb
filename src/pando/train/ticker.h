// Calls a function periodically from a thread of its own, while the caller is busy.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "pando/base/threads.h"

namespace pando::train {

// The function is not called any more when the destructor returns, and must not throw.
class Ticker {
 public:
  Ticker(std::chrono::milliseconds period, std::function<void()> tick)
      : thread_(start_thread(
            "pando-ticker", [this, period, tick = std::move(tick)](const std::stop_token& stop) {
              std::unique_lock lock(mutex_);
              while (!wake_.wait_for(lock, stop, period, [&] { return stop.stop_requested(); })) {
                // The standard library may return false although a stop has ended the wait.
                if (stop.stop_requested()) return;
                tick();
              }
            })) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // the last member: it stops before the others are destroyed
};

}  // namespace pando::train
