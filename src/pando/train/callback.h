// Functions of the user that a fit calls between executions. The device works without the host in
// between, so there is no call per step.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "pando/train/history.h"

namespace pando {

class Model;

// What a callback may see and do. Valid during the call.
struct FitContext {
  Model* model = nullptr;
  int64_t epoch = 0;        // from 0
  int64_t epochs = 0;       // the fit ends before this one
  int64_t step = 0;         // steps done in this epoch
  int64_t steps = 0;        // of an epoch
  double step_seconds = 0;  // of the execution that just ended, per step
  int64_t samples = 0;      // of the execution that just ended
  double seconds = 0;       // time spent in executions of this epoch
  // Set it to end the fit after this call. An epoch stopped at its begin does not take place; one
  // stopped within ends without validation.
  bool stop = false;
};

// Called by the thread that called fit(), in the order of the list of callbacks. An exception
// ends the fit and reaches its caller.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(FitContext&) {}
  virtual void on_train_end(FitContext&) {}
  virtual void on_epoch_begin(FitContext&) {}
  virtual void on_epoch_end(FitContext&, const Logs&) {}
  virtual void on_execution_begin(FitContext&) {}
  virtual void on_execution_end(FitContext&, const Logs&) {}
};

}  // namespace pando
