// A counter of how far a thread has come, for threads that wait for its results.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "pando/runtime/machine/barrier.h"

namespace pando::runtime {

// One thread at a time advances, any number wait. All writes before advance_to() are visible to the
// threads whose wait it ends. Another thread may call wake() in between, and its value may be
// overwritten: waiters check `given_up` before they sleep, and every change wakes them.
class alignas(64) Progress {
 public:
  int32_t value() const { return done_.load(std::memory_order_acquire); }

  void advance_to(int32_t value) {
    // A full barrier: notify_all() must not look for sleepers before the new value is visible.
    done_.exchange(value, std::memory_order_seq_cst);
    done_.notify_all();
  }
  void add(int32_t count) {
    done_.fetch_add(count, std::memory_order_acq_rel);
    done_.notify_all();
  }

  // Waits until the progress is at least `target`; false when `given_up` was set meanwhile (the
  // thread that sets it then calls wake()).
  bool wait_for(int32_t target, int spins, const std::atomic<bool>& given_up) const {
    for (int i = 0; i < spins; ++i) {
      if (value() >= target) return !given_up;
      __builtin_ia32_pause();
    }
    for (int32_t seen = value(); seen < target; seen = value()) {
      if (given_up) return false;
      done_.wait(seen, std::memory_order_acquire);
    }
    return !given_up;
  }
  void wake() { advance_to(std::numeric_limits<int32_t>::max()); }
  void reset() { done_ = 0; }

 private:
  std::atomic<int32_t> done_{0};
};

}  // namespace pando::runtime
