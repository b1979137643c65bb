// SPDX-License-Identifier: MIT
#include "pando/app/run_recorder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pando/train/model.h"

namespace pando::app {
namespace {

double epochs_of(const FitContext& context) {
  return static_cast<double>(context.epoch) +
         static_cast<double>(context.step) / static_cast<double>(context.steps);
}

// "epoch_3.0.h5" after whole epochs, "epoch_2.9328.h5" within one.
std::string checkpoint_name(double epochs) {
  const bool whole = epochs == std::floor(epochs);
  return whole ? fmt::format("epoch_{:.1f}.h5", epochs) : fmt::format("epoch_{:.4f}.h5", epochs);
}

std::optional<double> find_log(const Logs& logs, std::string_view name) {
  const auto found = std::find_if(logs.begin(), logs.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == logs.end()) return std::nullopt;
  return found->second;
}

std::string describe(const HistoryRow& row) {
  std::vector<std::string> parts;
  if (row.loss) parts.push_back(fmt::format("loss: {:.4f}", *row.loss));
  if (row.accuracy)
    parts.push_back(fmt::format("training accuracy: {:.2f} %", 100 * *row.accuracy));
  if (row.throughput)
    parts.push_back(fmt::format("throughput: {:.0f} samples/sec", *row.throughput));
  if (row.learning_rate) parts.push_back(fmt::format("learning rate: {:g}", *row.learning_rate));
  if (row.val_loss) parts.push_back(fmt::format("val_loss: {:.4f}", *row.val_loss));
  if (row.val_accuracy) {
    parts.push_back(fmt::format("val_accuracy: {:.2f} %", 100 * *row.val_accuracy));
  }
  return fmt::format("epoch {:g}: {}", row.epoch, join(parts, ", "));
}

}  // namespace

RunRecorder::Sums& RunRecorder::Sums::operator+=(const Sums& more) {
  samples += more.samples;
  seconds += more.seconds;
  loss += more.loss;
  accuracy += more.accuracy;
  return *this;
}

RunRecorder::Sums RunRecorder::Sums::operator-(const Sums& less) const {
  return {samples - less.samples, seconds - less.seconds, loss - less.loss,
          accuracy - less.accuracy};
}

RunRecorder::RunRecorder(RunDirectory& run, const StopSignal& signal, HostEvents events)
    : run_(run),
      signal_(signal),
      events_(std::move(events)),
      start_(std::chrono::steady_clock::now()) {}

void RunRecorder::on_epoch_begin(FitContext&) {
  carried_ += epoch_ - logged_;
  epoch_ = {};
  logged_ = {};
}

void RunRecorder::on_execution_end(FitContext& context, const Logs& logs) {
  epoch_.samples += context.samples;
  epoch_.seconds = context.seconds;
  const auto samples = static_cast<double>(epoch_.samples);
  epoch_.loss = find_log(logs, "loss").value_or(0) * samples;
  epoch_.accuracy = find_log(logs, "accuracy").value_or(0) * samples;
  stop_when_asked(context);
  const bool epoch_ends = context.step >= context.steps || context.stop;
  if (epoch_ends || !events_.logs_since(logged_updates_, context.updates)) return;
  HistoryRow row = row_of(context);
  add_training(row, context, logs);
  run_.append_history(row);
  run_.log(describe(row));
}

void RunRecorder::on_epoch_end(FitContext& context, const Logs& logs) {
  const std::string checkpoint =
      (run_.checkpoints() / checkpoint_name(epochs_of(context))).string();
  context.model->save_weights(checkpoint);
  HistoryRow row = row_of(context);
  row.val_loss = find_log(logs, "val_loss");
  row.val_accuracy = find_log(logs, "val_accuracy");
  const bool is_last = context.stop && context.updates != logged_updates_;
  if (is_last || events_.logs_since(logged_updates_, context.updates))
    add_training(row, context, logs);
  const bool is_known = row.loss || row.val_loss;
  if (is_known) run_.append_history(row);
  run_.log((is_known ? describe(row) : fmt::format("epoch {:g}", row.epoch)) + ", saved " +
           checkpoint);
  stop_when_asked(context);
}

HistoryRow RunRecorder::row_of(const FitContext& context) const {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
  return {.epoch = epochs_of(context),
          .step = context.epoch * context.steps + context.step,
          .seconds = since.count()};
}

void RunRecorder::add_training(HistoryRow& row, const FitContext& context, const Logs& logs) {
  Sums since = carried_;
  since += epoch_ - logged_;
  row.loss = since.loss / static_cast<double>(since.samples);
  row.accuracy = since.accuracy / static_cast<double>(since.samples);
  if (carried_.samples == 0 &&
      logged_.samples == 0) {  // as the progress bar has them, without a rounding more
    row.loss = find_log(logs, "loss");
    row.accuracy = find_log(logs, "accuracy");
  }
  row.throughput = static_cast<double>(since.samples) / since.seconds;
  row.learning_rate = context.model->learning_rate();
  carried_ = {};
  logged_ = epoch_;
  logged_updates_ = context.updates;
}

// After the last step there is nothing left to stop: the run is whole.
void RunRecorder::stop_when_asked(FitContext& context) {
  const bool whole = context.epoch + 1 >= context.epochs && context.step >= context.steps;
  if (signal_.received() == 0 || whole) return;
  context.stop = true;
  stopped_ = true;
}

}  // namespace pando::app
