// SPDX-License-Identifier: MIT
#include "pando/runtime/machine/helper_team.h"

#include "pando/base/error.h"
#include "pando/base/threads.h"
#include "pando/kernels/denormals.h"

namespace pando::runtime {

HelperTeam::HelperTeam(int size, int spins) : size_(size), spins_(spins), done_(size, spins) {
  PANDO_CHECK(size >= 1, "a team of ", size);
  try {
    for (int index = 1; index < size; ++index) {
      threads_.push_back(start_thread(concat("pando-help.", index),
                                      [this, index](const std::stop_token&) { work(index); }));
    }
  } catch (...) {
    stop();
    throw;
  }
}

HelperTeam::~HelperTeam() { stop(); }

void HelperTeam::stop() {
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::jthread& thread : threads_) thread.join();
}

void HelperTeam::start(Call call) {
  call_ = call;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void HelperTeam::work(int index) {
  kernels::flush_denormals();
  for (uint32_t seen = 0;; ++seen) {
    for (int i = 0; i < spins_ && round_.load(std::memory_order_acquire) == seen; ++i) {
      __builtin_ia32_pause();
    }
    while (round_.load(std::memory_order_acquire) == seen) {
      round_.wait(seen, std::memory_order_acquire);
    }
    if (stopping_) return;
    call_.function(call_.object, index);
    done_.arrive_and_wait();
  }
}

}  // namespace pando::runtime
