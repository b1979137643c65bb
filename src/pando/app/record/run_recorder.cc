// SPDX-License-Identifier: MIT
#include "pando/app/record/run_recorder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "pando/app/record/log_line.h"
#include "pando/base/clock.h"
#include "pando/train/model.h"

namespace pando::app {
namespace {

// Notes in a checkpoint: sums that are in no row of the history yet. They have no times, so that
// the same run gives the same files.
constexpr const char* kLoggedUpdates = "logged_updates";
constexpr const char* kOpenSamples = "open_samples";
constexpr const char* kOpenLoss = "open_loss";
constexpr const char* kOpenMetric = "open_accuracy";  // of any task
constexpr const char* kBestNote = "best_accuracy";

double number_in(const TrainingState& state, const char* note) {
  const auto found = state.notes.find(note);
  const auto number = found == state.notes.end() ? std::nullopt : parse_double(found->second);
  return number.value_or(0);
}

// Both parts of each sum, or one number in checkpoints of earlier versions.
std::vector<WideSum> sums_in(const TrainingState& state, const char* note) {
  const auto found = state.notes.find(note);
  if (found == state.notes.end()) return {};
  const std::vector<std::string> parts = split(found->second, ' ');
  std::vector<WideSum> sums;
  for (size_t i = 0; i < parts.size(); i += 2) {
    sums.emplace_back(parse_double(parts[i]).value_or(0),
                      i + 1 < parts.size() ? parse_double(parts[i + 1]).value_or(0) : 0);
  }
  return sums;
}

std::string text_of_sums(const std::vector<WideSum>& sums) {
  if (sums.empty()) return "0 0";
  std::string text;
  for (const WideSum& sum : sums) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", sum.high(), sum.low());
  }
  return text;
}

// Adds the sums of an execution. A metric has the same number of sums each time; those of a
// checkpoint that was written for another metric do not count.
void add_sums(const LogSums::Metric& more, LogSums::Metric& to) {
  to.value = more.value;
  if (to.sums.size() != more.sums.size()) to.sums.assign(more.sums.size(), 0);
  for (size_t i = 0; i < more.sums.size(); ++i) to.sums[i] += more.sums[i];
}

}  // namespace

RunRecorder::RunRecorder(RunLog& log, AgreedSignal& signal, CheckpointStore& store,
                         RecorderOptions options)
    : log_(log),
      signal_(signal),
      store_(store),
      options_(std::move(options)),
      start_(std::chrono::steady_clock::now()),
      best_(options_.best) {}

void RunRecorder::resume(const TrainingState& state, double seconds) {
  logged_updates_ = static_cast<int64_t>(number_in(state, kLoggedUpdates));
  seconds_before_ = seconds;
  if (state.notes.contains(kBestNote)) {
    const double before = number_in(state, kBestNote);
    if (!best_ || options_.task.is_better(before, *best_)) best_ = before;
  }
  open_ = {.samples = static_cast<int64_t>(number_in(state, kOpenSamples)),
           .loss = {},
           .metric = {.sums = sums_in(state, kOpenMetric), .value = {}}};
  for (const WideSum& loss : sums_in(state, kOpenLoss)) open_.loss += loss;
}

void RunRecorder::on_epoch_begin(FitContext&) { epoch_seconds_ = 0; }

void RunRecorder::on_execution_end(FitContext& context, const Logs& logs) {
  open_.samples += context.sums.samples;
  open_.timed += context.sums.samples;
  open_.seconds += context.seconds - epoch_seconds_;
  open_.loss += context.sums.sum("loss");
  add_sums(context.sums.metric(options_.task.metric), open_.metric);
  epoch_seconds_ = context.seconds;
  stop_when_asked(context);
  const bool epoch_ends = context.step >= context.steps || context.stop;
  if (epoch_ends) return;
  const int64_t done = updates_done(context);
  if (options_.events.logs_since(logged_updates_, done)) {
    HistoryRow row = row_of(context);
    add_training(row, context, logs);
    write(context, row);
  }
  note_validation(context);
  if (options_.events.checkpoints_at(done)) save(context);
}

void RunRecorder::on_epoch_end(FitContext& context, const Logs& logs) {
  HistoryRow row = row_of(context);
  const int64_t done = updates_done(context);
  // A run that a signal stops continues later: its open sums are in the checkpoint, not in a row.
  const bool is_last = context.stop && !stopped_ && done != logged_updates_;
  if (is_last || options_.events.logs_since(logged_updates_, done)) {
    add_training(row, context, logs);
  }
  try {
    if (row.loss) write(context, row);
    note_validation(context);
  } catch (const IoError&) {
    if (!options_.events.checkpoints_at(done) && !stopped_) throw;
    save(context);  // the disk of the checkpoints may have room
    throw;
  }
  if (options_.events.checkpoints_at(done)) save(context);
  stop_when_asked(context);
}

// Only the fit sees a signal between two epochs.
void RunRecorder::on_train_end(FitContext& context) {
  stop_when_asked(context);
  const bool wanted = signal_.received() != 0 || options_.final_checkpoint;
  if (wanted && context.model->position() != store_.last_position()) save(context);
}

int64_t RunRecorder::updates_done(const FitContext& context) const {
  const TrainingPosition position = context.model->position();
  return position.epoch * options_.updates_per_epoch + position.update;
}

double RunRecorder::epochs_done(const FitContext& context) const {
  const TrainingPosition position = context.model->position();
  return static_cast<double>(position.epoch) +
         static_cast<double>(position.update) / static_cast<double>(options_.updates_per_epoch);
}

HistoryRow RunRecorder::row_of(const FitContext& context) const {
  const double since = seconds_since(start_);
  return {.epoch = epochs_done(context),
          .step = updates_done(context) * options_.steps_per_update,
          .seconds = seconds_before_ + since,
          .metric_name = options_.task.metric};
}

void RunRecorder::add_training(HistoryRow& row, const FitContext& context, const Logs& logs) {
  row.loss = open_.loss / static_cast<double>(open_.samples);
  if (open_.metric.value) {
    row.metric = open_.metric.value(open_.metric.sums, static_cast<double>(open_.samples));
  }
  row.throughput = static_cast<double>(open_.timed) / open_.seconds;
  row.learning_rate = context.model->learning_rate();
  if (const std::optional<double> factor = find_value(logs, kLossScalingColumn)) {
    row.extra.emplace_back(kLossScalingColumn, *factor);
  }
  add_memory(row);
  open_ = {};
  logged_updates_ = updates_done(context);
}

void RunRecorder::note_validation(const FitContext& context) {
  if (context.validation.empty()) return;
  HistoryRow row = row_of(context);
  row.val_loss = find_value(context.validation, "val_loss");
  row.val_metric = find_value(context.validation, "val_" + options_.task.metric);
  log_.directory().append_history(row);
  const std::string line = validation_line(row);
  log_.directory().log(line);
  if (context.tell) context.tell(line);
  if (options_.validated) options_.validated(row);
  if (!options_.keep_best || !row.val_metric) return;
  if (best_ && !options_.task.is_better(*row.val_metric, *best_)) return;
  best_ = row.val_metric;
  store_.save_best(*context.model, notes());
  log_.directory().log("the best so far, kept as best.h5");
}

void RunRecorder::write(const FitContext& context, const HistoryRow& row) {
  log_.directory().append_history(row);
  const std::string line = log_line(row);
  log_.directory().log(line);
  if (context.tell) context.tell(line);
}

std::map<std::string, std::string> RunRecorder::notes() const {
  std::map<std::string, std::string> notes = options_.notes;
  notes[kLoggedUpdates] = fmt::format("{}", logged_updates_);
  notes[kOpenSamples] = fmt::format("{}", open_.samples);
  notes[kOpenLoss] = text_of_sums({open_.loss});
  notes[kOpenMetric] = text_of_sums(open_.metric.sums);
  if (best_) notes[kBestNote] = fmt::format("{}", *best_);
  return notes;
}

void RunRecorder::save(const FitContext& context) {
  log_.directory().log("saved " + store_.save(*context.model, notes()).string());
}

// A stop after the last step has no effect: the run is complete.
void RunRecorder::stop_when_asked(FitContext& context) {
  const bool whole = context.epoch + 1 >= context.epochs && context.step >= context.steps;
  if (signal_.ask() == 0 || whole) return;
  context.stop = true;
  stopped_ = true;
}

}  // namespace pando::app
