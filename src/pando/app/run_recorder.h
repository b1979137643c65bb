// Keeps the run directory up to date while a model trains: log events, checkpoints, and the stop at
// a signal.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

#include "pando/app/host_events.h"
#include "pando/app/run_directory.h"
#include "pando/app/stop_signal.h"
#include "pando/train/callback.h"

namespace pando::app {

// A log event writes a row of the history and a line of the log, with the means since the one
// before. Events fall due after whole weight updates; where executions end elsewhere, the row comes
// with the first execution that ends later. An event at the end of an epoch waits for the
// validation; a validation without one has a row of its own. A run has an event at its end.
// Directory and signal must outlive it.
class RunRecorder : public Callback {
 public:
  RunRecorder(RunDirectory& run, const StopSignal& signal, HostEvents events);

  void on_epoch_begin(FitContext& context) override;
  void on_execution_end(FitContext& context, const Logs& logs) override;
  void on_epoch_end(FitContext& context, const Logs& logs) override;
  // A signal between two epochs is seen by the fit alone.
  void on_train_end(FitContext& context) override { stop_when_asked(context); }

  // Whether a signal ended the fit before its last step.
  bool stopped() const { return stopped_; }

 private:
  // Sums over samples.
  struct Sums {
    int64_t samples = 0;
    double seconds = 0;
    double loss = 0;
    double accuracy = 0;

    Sums& operator+=(const Sums& more);
    Sums operator-(const Sums& less) const;
  };

  HistoryRow row_of(const FitContext& context) const;
  void add_training(HistoryRow& row, const FitContext& context, const Logs& logs);
  void stop_when_asked(FitContext& context);

  RunDirectory& run_;
  const StopSignal& signal_;
  HostEvents events_;
  std::chrono::steady_clock::time_point start_;
  int64_t logged_updates_ = 0;
  Sums carried_;  // of earlier epochs, in no row yet
  Sums epoch_;    // of this epoch so far
  Sums logged_;   // the part of it that is in a row
  bool stopped_ = false;
};

}  // namespace pando::app
