// SPDX-License-Identifier: MIT
#include "pando/train/step_watch.h"

#include <algorithm>
#include <chrono>

#include "pando/base/threads.h"

namespace pando::train {

namespace {

constexpr std::chrono::microseconds kPause{500};

}  // namespace

StepWatch::StepWatch(const runtime::Executor& executor, std::function<void(int64_t)> on_step)
    : executor_(executor),
      on_step_(std::move(on_step)),
      thread_(start_thread("pando-watch", [this](const std::stop_token&) { watch(); })) {}

StepWatch::~StepWatch() {
  if (!thread_.joinable()) return;
  last_ = 0;
  thread_.join();
}

void StepWatch::watch() {
  while (last_ < 0) {
    tell(executor_.steps_done());
    std::this_thread::sleep_for(kPause);
  }
  tell(last_);
}

void StepWatch::tell(int64_t done) {
  try {
    for (; told_ < done && error_ == nullptr; ++told_) on_step_(told_);
  } catch (...) {
    error_ = std::current_exception();
    failed_ = true;
  }
}

void StepWatch::finish(int64_t steps) {
  last_ = steps;
  thread_.join();
  if (error_ != nullptr) std::rethrow_exception(error_);
}

}  // namespace pando::train
