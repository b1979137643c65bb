// The work between the executions of a training: hooks, checkpoints, summaries, log lines.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/estimator/checkpoint_folder.h"
#include "pando/estimator/estimator.h"
#include "pando/estimator/hook_calls.h"
#include "pando/estimator/summaries.h"
#include "pando/train/model.h"

namespace pando::estimator {

struct RunObserverOptions {
  const RunConfig* config = nullptr;
  std::filesystem::path model_dir;
  int64_t first_step = 0;  // global step at the start
  int64_t total_replicas = 1;
  bool writes = true;              // false: another instance writes
  std::vector<std::string> names;  // of the loss and the metrics
  std::vector<std::shared_ptr<Hook>> hooks;
  std::function<void(int64_t, const Logs&)> host_call;
  std::vector<CheckpointListener> listeners;
  Tell tell;
};

class RunObserver : public Callback {
 public:
  // Throws IoError if model_dir cannot be created.
  explicit RunObserver(RunObserverOptions options);

  bool want_all_values() const { return hooks_.want_all_values(); }
  int64_t global_step() const { return step_; }
  Summaries& summaries() { return summaries_; }

  void on_train_begin(FitContext& context) override;
  void on_execution_begin(FitContext& context) override;
  void on_execution_end(FitContext& context, const Logs& logs) override;
  void on_train_end(FitContext& context) override;

  // Saves a checkpoint, unless the current step is already saved.
  void save(const Model& model);

 private:
  bool checkpoint_due() const;
  void write_figures(const FitContext& context);

  RunObserverOptions options_;
  HookCalls hooks_;
  Summaries summaries_;
  StepTimer summary_timer_;
  StepTimer line_timer_;
  std::optional<CheckpointFolder> checkpoints_;  // none if nothing is saved
  int64_t step_;
  int64_t saved_step_ = -1;
  std::chrono::steady_clock::time_point saved_;
  int64_t timed_step_;  // step of the last figures
  std::chrono::steady_clock::time_point timed_;
};

}  // namespace pando::estimator
