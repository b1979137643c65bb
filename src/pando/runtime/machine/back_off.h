// How a worker waits for data from another process.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <thread>

namespace pando::runtime {

// Spins at first, then yields the core, then sleeps between two checks.
class BackOff {
 public:
  void pause() {
    ++looks_;
    if (looks_ < kSpins) {
      __builtin_ia32_pause();
    } else if (looks_ < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  static constexpr int kSpins = 200;
  static constexpr int kYields = 4000;
  int looks_ = 0;
};

}  // namespace pando::runtime
