// The signal on which all instances of a job stop: that of any of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string>

#include "pando/app/instances.h"
#include "pando/app/stop_signal.h"

namespace pando::app {

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
  std::string text() const;                 // "signal 10", and which instance got it
  // Of this instance alone.
  const std::atomic<bool>& wanted() const { return own_.wanted(); }

 private:
  const Instances& instances_;
  StopSignal own_;
  int signal_ = 0;
  int instance_ = 0;
};

}  // namespace pando::app
