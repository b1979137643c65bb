// Functions of the user that a fit calls between executions. The devices work without the host
// during an execution; only asynchronous callbacks see single steps, some time after they happened.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "pando/runtime/program/exchange_figures.h"
#include "pando/train/history.h"

namespace pando {

class Model;

// Which steps of an execution leave their values for callbacks: the last one or all.
enum class OutfeedMode { last, all };

// The values of one replica in one step.
struct StepValues {
  int64_t step = 0;  // its number in the epoch, counted per replica from 0
  int replica = 0;
  Logs logs;
};

// What a callback may see and do. Valid during the call.
struct FitContext {
  Model* model = nullptr;
  int64_t epoch = 0;        // from 0
  int64_t epochs = 0;       // the fit ends before this one
  int64_t step = 0;         // micro-batches done in this epoch, by all replicas
  int64_t steps = 0;        // the steps of an epoch
  int64_t updates = 0;      // weight updates done since compile()
  double step_seconds = 0;  // the time per micro-batch of the execution that just ended
  double seconds = 0;       // time spent in executions of this epoch
  // The exchange with other instances in the execution that just ended.
  runtime::ExchangeFigures exchange = {};
  // Set it to end the fit after this call. An epoch that is stopped in on_epoch_begin does not take
  // place; an epoch that is stopped later ends without validation.
  bool stop = false;
  // Writes a line above the progress bar, unless the fit is silent. Not for on_step_end.
  std::function<void(std::string_view)> tell = {};
  // Sums over the samples of all replicas in the execution that just ended, and the values that are
  // logged.
  LogSums sums = {};
  Logs execution = {};
  // The results of the validation after the execution that just ended, named val_...; empty: there
  // was none.
  Logs validation = {};
  // The values of the execution that just ended, step by step and replica by replica.
  const std::vector<StepValues>* outfeed = nullptr;
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
  // Only with asynchronous callbacks: for every step, with the values of its micro-batches, called
  // by a separate thread while the devices continue. context.step is that step's number.
  virtual void on_step_end(FitContext&, const Logs&) {}
};

}  // namespace pando
