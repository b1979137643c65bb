// SPDX-License-Identifier: MIT
#include "pando/estimator/hook_calls.h"

#include <algorithm>

namespace pando::estimator {

HookCalls::HookCalls(RunMode mode, int64_t global_step, std::vector<std::string> names,
                     std::vector<std::shared_ptr<Hook>> hooks,
                     std::function<void(std::string_view)> tell)
    : hooks_(std::move(hooks)) {
  context_.mode = mode;
  context_.global_step = global_step;
  context_.names = std::move(names);
  context_.tell = std::move(tell);
}

bool HookCalls::want_all_values() const {
  return std::ranges::any_of(hooks_, [](const auto& hook) { return hook->wants_all_values(); });
}

void HookCalls::begin() {
  start_ = std::chrono::steady_clock::now();
  for (const auto& hook : hooks_) hook->begin(context_);
}

void HookCalls::before_execution() {
  context_.seconds = seconds_since(start_);
  for (const auto& hook : hooks_) hook->before_execution(context_);
}

bool HookCalls::after_execution(HookContext context) {
  context.mode = context_.mode;
  context.names = context_.names;
  context.tell = context_.tell;
  context.stop = context_.stop;
  context.seconds = seconds_since(start_);
  context_ = std::move(context);
  for (const auto& hook : hooks_) hook->after_execution(context_);
  return !context_.stop;
}

void HookCalls::end() {
  context_.values = nullptr;
  context_.seconds = seconds_since(start_);
  for (const auto& hook : hooks_) hook->end(context_);
}

}  // namespace pando::estimator
