// SPDX-License-Identifier: MIT
#include "pando/estimator/run_observer.h"

#include <algorithm>

#include <fmt/core.h>

#include "pando/base/strings.h"

namespace pando::estimator {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCheckpointSeconds = 600;

}  // namespace

RunObserver::RunObserver(RunObserverOptions options)
    : options_(std::move(options)),
      hooks_(RunMode::train, options_.first_step, options_.names, options_.hooks, options_.tell),
      summaries_(options_.model_dir, options_.first_step == 0 ? 0 : options_.first_step + 1),
      summary_timer_(options_.config->save_summary_steps),
      line_timer_(options_.config->log_step_count_steps),
      step_(options_.first_step),
      timed_step_(options_.first_step) {
  if (!options_.writes || !options_.config->save_checkpoints) return;
  checkpoints_.emplace(options_.model_dir,
                       KeepOptions{.most = options_.config->keep_checkpoint_max,
                                   .one_of_hours = options_.config->keep_checkpoint_every_n_hours});
}

void RunObserver::on_train_begin(FitContext& context) {
  hooks_.begin();
  if (step_ == 0) save(*context.model);
  saved_step_ = step_;
  saved_ = timed_ = Clock::now();
}

void RunObserver::on_execution_begin(FitContext&) { hooks_.before_execution(); }

void RunObserver::on_execution_end(FitContext& context, const Logs&) {
  const int64_t before = step_;
  // At the end of the data, the last step may have samples for only some of the replicas.
  step_ =
      options_.first_step + (context.step + options_.total_replicas - 1) / options_.total_replicas;
  if (options_.host_call) options_.host_call(step_, context.execution);
  if (options_.writes) write_figures(context);
  const bool go_on = hooks_.after_execution({.global_step = step_,
                                             .steps = step_ - before,
                                             .logs = context.execution,
                                             .values = context.outfeed});
  if (!go_on) context.stop = true;
  if (checkpoint_due()) save(*context.model);
}

void RunObserver::on_train_end(FitContext&) { hooks_.end(); }

void RunObserver::write_figures(const FitContext& context) {
  const bool summary = summary_timer_.due(step_);
  const bool line = line_timer_.due(step_);
  if (!summary && !line) return;
  const double seconds = seconds_since(timed_);
  const double rate = seconds > 0 ? static_cast<double>(step_ - timed_step_) / seconds : 0;
  timed_step_ = step_;
  timed_ = Clock::now();
  if (summary) {
    Logs values = context.execution;
    values.emplace_back("learning_rate", context.model->learning_rate());
    values.emplace_back("global_step/sec", rate);
    summaries_.write(step_, values);
  }
  if (!line) return;
  std::vector<std::string> parts;
  for (const auto& value : context.execution) {
    parts.push_back(fmt::format("{} = {:.5g}", value.first, value.second));
  }
  options_.tell(fmt::format("step {}: {} ({:.4g} steps/s)", step_, join(parts, ", "), rate));
}

bool RunObserver::checkpoint_due() const {
  const RunConfig& config = *options_.config;
  if (!checkpoints_) return false;
  if (config.save_checkpoints_steps) return step_ - saved_step_ >= *config.save_checkpoints_steps;
  return seconds_since(saved_) >= config.save_checkpoints_secs.value_or(kCheckpointSeconds);
}

void RunObserver::save(const Model& model) {
  if (!checkpoints_ || saved_step_ == step_) return;
  for (const CheckpointListener& listener : options_.listeners) {
    if (listener.before_save) listener.before_save(step_);
  }
  const std::string path = checkpoints_->save(model.training_state(), step_).string();
  saved_step_ = step_;
  saved_ = Clock::now();
  for (const CheckpointListener& listener : options_.listeners) {
    if (listener.after_save) listener.after_save(step_, path);
  }
}

}  // namespace pando::estimator
