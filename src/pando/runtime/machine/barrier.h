// Where the workers of one or more devices meet. They spin for the microseconds that an even
// division leaves, then sleep so that a busy machine can run others.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace pando::runtime {

// How often a waiting worker looks before it sleeps: some 50 microseconds. Workers that share
// their cores with others do not look at all: the one they wait for may need the core.
inline constexpr int kSpins = 4000;

// Any `count` threads may use it, again and again. All writes before arrive_and_wait() are visible
// to all after it.
class Barrier {
 public:
  explicit Barrier(int count, int spins = kSpins) : count_(count), spins_(spins), waiting_(count) {}

  int count() const { return count_; }

  // False when the barrier is broken: the others may not come.
  bool arrive_and_wait() {
    // The round first: who sees the one that break_up() began also sees that it is broken.
    const uint32_t round = round_.load(std::memory_order_acquire);
    if (broken_.load(std::memory_order_acquire)) return false;
    if (count_ == 1) return true;
    if (waiting_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      waiting_.store(count_, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      round_.notify_all();
      return true;
    }
    for (int i = 0; i < spins_; ++i) {
      if (round_.load(std::memory_order_acquire) != round) return !broken_;
      __builtin_ia32_pause();
    }
    while (round_.load(std::memory_order_acquire) == round) {
      round_.wait(round, std::memory_order_acquire);
    }
    return !broken_;
  }

  // Lets all who wait go, and all who come; until reset().
  void break_up() {
    broken_ = true;
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  // Requires: nobody uses the barrier.
  void reset() {
    broken_ = false;
    waiting_ = count_;
  }

 private:
  const int count_;
  const int spins_;
  std::atomic<bool> broken_{false};
  alignas(64) std::atomic<int> waiting_;
  alignas(64) std::atomic<uint32_t> round_{0};
};

}  // namespace pando::runtime
