// Makes all instances of a job stop when any one of them receives a signal.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "pando/app/job/instances.h"
#include "pando/app/job/stop_signal.h"

namespace pando::app {

// Says why the job stops: "SIGUSR1", or "SIGUSR1 to instance 2" if only one of several instances
// received a signal. `received` has the signal of each instance, or 0. Requires: one is not 0.
std::string stop_cause(std::span<const int> received);

// Handles signals like StopSignal. If only some instances receive a signal, the others learn of it
// in ask().
class AgreedSignal {
 public:
  // Only the first instance writes `answer` when a signal comes. Requires: `answer` is a string
  // literal.
  explicit AgreedSignal(const Instances& instances,
                        const char* answer = StopSignal::kStopsTraining);

  // Returns the signal of the first instance that received one, or 0. All instances call it at the
  // same time. Once there is a signal, later calls return the same one.
  int ask();
  int received() const { return signal_; }  // the last result of ask()
  // The text of stop_cause() for this job. All instances call it, as late as possible, because a
  // signal that a launcher sends to all of them does not arrive everywhere at the same time.
  // Requires: ask() returned a signal.
  std::string text() const;
  // Whether this instance itself received a signal.
  const std::atomic<bool>& wanted() const { return own_.wanted(); }

 private:
  std::vector<int> all_received() const;  // the signal of each instance, or 0

  const Instances& instances_;
  StopSignal own_;
  int signal_ = 0;
};

}  // namespace pando::app
