// A barrier for the workers of one or more devices. If work is divided evenly, they wait only
// microseconds, so they spin first; then they sleep, so that a busy machine can run other threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace pando::runtime {

// How often a waiting worker checks before it sleeps: some 50 microseconds. Workers that share
// their cores do not spin at all: the worker they wait for may need the core.
inline constexpr int kSpins = 4000;

// Any `count` threads may use it, any number of times. All writes before arrive_and_wait() are
// visible to all after it.
class Barrier {
 public:
  explicit Barrier(int count, int spins = kSpins) : count_(count), spins_(spins), waiting_(count) {}

  int count() const { return count_; }

  // False when the barrier is broken: the others may not arrive.
  bool arrive_and_wait() {
    // Loads the round first: a thread that sees the round that break_up() began also sees
    // `broken_`.
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

  // Releases all threads that wait now or arrive later, until reset().
  void break_up() {
    broken_ = true;
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  // Requires: no thread uses the barrier.
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
