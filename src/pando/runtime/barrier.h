// A barrier for the few workers of one device, which meet several times per step: they spin for
// the microseconds that an even division leaves, then sleep so that a busy machine can run others.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace pando::runtime {

// Any `count` threads may use it, again and again. All writes before arrive_and_wait() are visible
// to all after it.
class Barrier {
 public:
  explicit Barrier(int count) : count_(count), waiting_(count) {}

  void arrive_and_wait() {
    if (count_ == 1) return;
    const uint32_t round = round_.load(std::memory_order_relaxed);
    if (waiting_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      waiting_.store(count_, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    for (int i = 0; i < kSpins; ++i) {
      if (round_.load(std::memory_order_acquire) != round) return;
      __builtin_ia32_pause();
    }
    while (round_.load(std::memory_order_acquire) == round) {
      round_.wait(round, std::memory_order_acquire);
    }
  }

 private:
  static constexpr int kSpins = 4000;  // some 50 microseconds

  const int count_;
  alignas(64) std::atomic<int> waiting_;
  alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace pando::runtime
