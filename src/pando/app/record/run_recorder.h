// Keeps the run directory up to date while a model trains: log events, checkpoints, and the stop at
// a signal.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "pando/app/job/agreed_signal.h"
#include "pando/app/record/checkpoint_store.h"
#include "pando/app/record/host_events.h"
#include "pando/app/record/run_log.h"
#include "pando/train/callback.h"
#include "pando/zoo/task.h"

namespace pando::app {

struct RecorderOptions {
  HostEvents events;
  int64_t updates_per_epoch = 1;
  int64_t steps_per_update = 1;              // of all replicas
  bool keep_best = false;                    // of the validations within the fit, as best.h5
  Task task;                                 // whose metric is recorded
  std::optional<double> best;                // of the validations before a resumed run
  bool final_checkpoint = true;              // at the end of the fit, at any position
  std::map<std::string, std::string> notes;  // for every checkpoint: they describe the run
  // Receives the row of every validation within the fit.
  std::function<void(const HistoryRow&)> validated = {};
};

// A log event writes a row of the history and a line of the log, with the means since the previous
// event. Events are due after whole weight updates; if executions end elsewhere, the row is written
// after the first execution that ends later. A validation has its own row and line after those of
// training. A run has an event at its end.
// Checkpoints are written after the rows of the same moment, and also at a stop by a signal and at
// the end of the fit. All instances of a job make the same calls. Log, signal and store must
// outlive it.
class RunRecorder : public Callback {
 public:
  RunRecorder(RunLog& log, AgreedSignal& signal, CheckpointStore& store, RecorderOptions options);

  // Continues from where the run saved this state, `seconds` after its start.
  void resume(const TrainingState& state, double seconds);

  void on_epoch_begin(FitContext& context) override;
  void on_execution_end(FitContext& context, const Logs& logs) override;
  void on_epoch_end(FitContext& context, const Logs& logs) override;
  void on_train_end(FitContext& context) override;

  // Whether a signal ended the fit before its last step.
  bool stopped() const { return stopped_; }

 private:
  // Sums over the samples that are in no row yet.
  struct OpenSums {
    int64_t samples = 0;
    int64_t timed = 0;  // of them, in `seconds`; a resumed run has no times of earlier ones
    double seconds = 0;
    WideSum loss;
    LogSums::Metric metric;
  };

  int64_t updates_done(const FitContext& context) const;
  double epochs_done(const FitContext& context) const;
  HistoryRow row_of(const FitContext& context) const;
  void add_training(HistoryRow& row, const FitContext& context, const Logs& logs);
  // Writes to the history, to the log and, for the user, above the progress bar.
  void write(const FitContext& context, const HistoryRow& row);
  std::map<std::string, std::string> notes() const;
  void note_validation(const FitContext& context);
  void save(const FitContext& context);
  void stop_when_asked(FitContext& context);

  RunLog& log_;
  AgreedSignal& signal_;
  CheckpointStore& store_;
  RecorderOptions options_;
  std::chrono::steady_clock::time_point start_;
  double seconds_before_ = 0;  // of the run before it was resumed
  int64_t logged_updates_ = 0;
  OpenSums open_;
  double epoch_seconds_ = 0;    // that are in open_ or in a row
  std::optional<double> best_;  // metric of the validations
  bool stopped_ = false;
};

}  // namespace pando::app
