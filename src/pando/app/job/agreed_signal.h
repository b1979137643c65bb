// The signal on which all instances of a job stop: that of any of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "pando/app/job/instances.h"
#include "pando/app/job/stop_signal.h"

namespace pando::app {

// "SIGUSR1", or "SIGUSR1 to instance 2" when it is the only one of several that got a signal.
// `received`: the signal of each instance or 0. Requires: one has one.
std::string stop_cause(std::span<const int> received);

// Handles signals as StopSignal does. Where only one instance gets one, the others learn of it when
// all ask.
class AgreedSignal {
 public:
  // Requires: a literal. Only the first instance answers with it.
  explicit AgreedSignal(const Instances& instances,
                        const char* answer = StopSignal::kStopsTraining);

  // The signal of the first instance that has one, or 0. All instances ask at the same time; once
  // there is one, it stays.
  int ask();
  int received() const { return signal_; }  // what ask() found last
  // What stopped the job, as stop_cause() has it. All instances call it, late: what a launcher
  // sends to all does not reach them at the same time. Requires: ask() found one.
  std::string text() const;
  // Of this instance alone.
  const std::atomic<bool>& wanted() const { return own_.wanted(); }

 private:
  std::vector<int> all_received() const;  // of each instance, or 0

  const Instances& instances_;
  StopSignal own_;
  int signal_ = 0;
};

}  // namespace pando::app
