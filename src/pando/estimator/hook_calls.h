// Calls the hooks of one run, in any mode.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pando/base/clock.h"
#include "pando/estimator/hooks.h"

namespace pando::estimator {

// Used by one thread.
class HookCalls {
 public:
  HookCalls(RunMode mode, int64_t global_step, std::vector<std::string> names,
            std::vector<std::shared_ptr<Hook>> hooks, std::function<void(std::string_view)> tell);

  bool want_all_values() const;
  void begin();
  void before_execution();
  // Returns false if a hook asks to end the run.
  bool after_execution(HookContext context);
  void end();

 private:
  HookContext context_;
  std::vector<std::shared_ptr<Hook>> hooks_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace pando::estimator
