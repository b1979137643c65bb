// SPDX-License-Identifier: MIT
#include "pando/app/flags/early_stopping_flags.h"

#include <cmath>
#include <limits>

#include "pando/app/job/exit_code.h"
#include "pando/app/record/history_writer.h"
#include "pando/base/json.h"
#include "pando/train/model.h"
#include "pando/zoo/task.h"

namespace pando::app {
namespace {

std::optional<double> figure_of(const HistoryRow& row, const std::string& name) {
  if (name == "loss") return row.loss;
  if (name == "val_loss") return row.val_loss;
  return name.starts_with("val_") ? row.val_metric : row.metric;
}

using EpochValues = std::vector<std::pair<int64_t, double>>;

// The values of whole epochs, numbered from 0. Skips the rows of a validation after training, which
// repeat earlier epochs.
EpochValues earlier_values(const std::filesystem::path& json, const std::string& name) {
  EpochValues values;
  for (const HistoryRow& row : read_history(json, std::numeric_limits<int64_t>::max())) {
    const std::optional<double> value = figure_of(row, name);
    const bool whole = row.epoch == std::floor(row.epoch) && row.epoch >= 1;
    if (!value || !whole) continue;
    const int64_t epoch = static_cast<int64_t>(row.epoch) - 1;
    if (values.empty() || epoch > values.back().first) values.emplace_back(epoch, *value);
  }
  return values;
}

std::vector<std::pair<std::string, std::string>> monitors() {
  std::vector<std::string> names = {"loss", "val_loss"};
  for (const Task& task : all_tasks())
    names.insert(names.end(), {task.metric, "val_" + task.metric});
  std::vector<std::pair<std::string, std::string>> choices = {{"off", ""}};
  for (const std::string& name : names) choices.emplace_back(name, name);
  return choices;
}

// A loss gets better downwards, and the metric of a task as the task says.
MonitorMode mode_of(std::string_view monitor) {
  if (monitor.starts_with("val_")) monitor.remove_prefix(4);
  const bool upwards = monitor != "loss" && task_of_metric(std::string(monitor)).larger_is_better;
  return upwards ? MonitorMode::max : MonitorMode::min;
}

}  // namespace

void add_early_stopping_flags(OptionTable& table, EarlyStoppingFlags& flags) {
  table.begin_group("Early stopping", Effect::none);
  table
      .add_choice(
          "early-stopping", flags.monitor, monitors(),
          "end training when this metric stops improving; val_ metrics are measured after every "
          "epoch and need --validation during")
      .with_hint("METRIC");
  table
      .add("patience", flags.patience,
           "with --early-stopping: stop after this many epochs in a row without an improvement; 0 "
           "and 1 both stop after the first such epoch")
      .with_hint("N")
      .at_least(0);
  table
      .add("min-delta", flags.min_delta,
           "with --early-stopping: a change smaller than this does not count as an improvement; "
           "default: 0")
      .with_hint("X")
      .at_least(0);
  table.add("restore-best", flags.restore_best,
            "with --early-stopping: save the weights of the best epoch as best_epoch.h5 in the run "
            "directory; they are validated last and give the result of the run");
}

void validate(const EarlyStoppingFlags& flags, const ValidationFlags& phases) {
  const auto without = [&](const char* flag) {
    throw UsageError(flag, ": needs --early-stopping; add it or remove ", flag);
  };
  if (!flags.on()) {
    if (flags.patience) without("--patience");
    if (flags.min_delta) without("--min-delta");
    if (flags.restore_best) without("--restore-best");
    return;
  }
  if (flags.monitors_validation() && !phases.validates_during()) {
    throw UsageError("--early-stopping ", flags.monitor,
                     ": this metric is measured during training only with --validation during; add "
                     "it, or monitor a metric without val_");
  }
}

std::shared_ptr<Callback> early_stopping_callback(const EarlyStoppingFlags& flags,
                                                  const EarlyStoppingPlace& run) {
  if (!flags.on()) return nullptr;
  const std::string earlier = run.instances.from_first([&] {
    return Json(earlier_values(run.directory / "history.json", flags.monitor)).to_bytes();
  });
  const auto save = [file = (run.directory / kBestEpochFile).string(), tell = run.tell,
                     restored = run.restored,
                     is_first = run.instances.is_first()](Model& model, int64_t epoch) {
    if (restored) restored(epoch + 1);
    if (!is_first) return;
    model.save_weights(file);
    tell("the weights of the best epoch are saved as " + file);
  };
  return EarlyStopping({.monitor = flags.monitor,
                        .patience = flags.patience.value_or(0),
                        .min_delta = flags.min_delta.value_or(0),
                        .mode = mode_of(flags.monitor),
                        .restore_best = flags.restore_best,
                        .earlier = Json::from_bytes(earlier).get<EpochValues>(),
                        .at_best = save,
                        .tell = run.tell});
}

}  // namespace pando::app
