// SPDX-License-Identifier: MIT
#include "pando/app/run/validation_phase.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include <fmt/core.h>

#include "pando/app/job/shared_state.h"
#include "pando/app/record/log_line.h"
#include "pando/app/run/validation_report.h"
#include "pando/base/clock.h"
#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/strings.h"
#include "pando/train/progress.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

struct Stopped {};  // thrown to end an evaluation

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The checkpoints of the folder to validate; warns about skipped files.
std::vector<CheckpointFile> files_of_folder(RunLog& log, const ValidationRequest& request) {
  std::error_code unknown;
  const bool is_missing = request.trained && !fs::exists(request.folder, unknown);
  if (request.folder.empty() || is_missing) return {};
  for (const fs::path& other : unnumbered_weights_in(request.folder)) {
    if (other.filename() == "best.h5") continue;  // --keep-best: a copy of one of the others
    log.say_always(fmt::format("warning: {} is not validated, its name is not epoch_<number>.h5",
                               other.string()));
  }
  return checkpoints_in(request.folder);
}

// Moves the restored epoch to the end, so that it is the result and the class report is about it.
void put_last(RunLog& log, const CheckpointFile& restored, std::vector<CheckpointFile>& files) {
  const auto found = std::ranges::find(files, restored.epoch, &CheckpointFile::epoch);
  const bool is_last = found != files.end() && found + 1 == files.end();
  if (is_last) return;
  if (found == files.end()) {
    files.push_back(restored);
  } else {
    std::rotate(found, found + 1, files.end());
  }
  log.say(fmt::format("validated last, as the result: epoch {}, whose weights were restored",
                      epoch_text(restored.epoch)));
}

// An empty path means the current weights of the model.
std::vector<CheckpointFile> choose_files(RunLog& log, const ValidationRequest& request) {
  if (!request.file.empty()) {
    return {{request.file, epoch_of(request.file.filename().string()).value_or(0)}};
  }
  std::vector<CheckpointFile> files = files_of_folder(log, request);
  if (request.restored) put_last(log, *request.restored, files);
  if (!files.empty()) return files;
  const std::string where =
      request.folder.empty() ? "" : fmt::format(" in {}", request.folder.string());
  log.say_always(fmt::format("warning: there is no checkpoint{}; {} weights are validated", where,
                             request.trained ? "the final" : "random"));
  return {{"", request.epoch}};
}

// The files that the first instance finds, for all instances.
std::vector<CheckpointFile> choose_files(const Instances& instances, RunLog& log,
                                         const ValidationRequest& request) {
  using Found = std::vector<std::pair<std::string, double>>;
  const std::string bytes = instances.from_first([&] {
    Found found;
    for (const CheckpointFile& file : choose_files(log, request)) {
      found.emplace_back(file.path.string(), file.epoch);
    }
    return Json(found).to_bytes();
  });
  std::vector<CheckpointFile> files;
  for (const auto& [path, epoch] : Json::from_bytes(bytes).get<Found>()) {
    files.push_back({path, epoch});
  }
  return files;
}

class ValidationPhase {
 public:
  ValidationPhase(TrainingSetup& setup, RunLog& log, const ValidationRequest& request)
      : setup_(setup),
        log_(log),
        request_(request),
        off_(nullptr),
        mlperf_(request.mlperf == nullptr ? off_ : *request.mlperf),
        batch_(setup.options.phases.micro_batch_size(setup.options.micro_batch_size)),
        files_(choose_files(setup.instances, log, request)),
        progress_(progress_options()) {}

  ValidationResult run() {
    const int64_t left = std::ranges::count_if(
        files_, [this](const CheckpointFile& file) { return known(file.epoch) == nullptr; });
    progress_.begin_evaluation(left * batches());
    try {
      for (const CheckpointFile& file : files_) validate(file);
    } catch (const Stopped&) {
      result_.stopped = true;
    }
    add_removed();
    std::erase_if(files_, [this](const CheckpointFile& file) {
      return file.path.empty() || (request_.restored && file.path == request_.restored->path);
    });
    result_.files = std::move(files_);
    return std::move(result_);
  }

 private:
  train::ProgressOptions progress_options() const {
    train::ProgressOptions options = train::standard_progress(log_.quiet() ? 0 : 1);
    options.is_terminal = options.is_terminal && &setup_.out == &std::cout;
    options.out = &setup_.out;
    return options;
  }

  // The figures of an epoch that was validated before; null: there are none.
  const ValidatedCheckpoint* known(double epoch) const {
    const auto found = std::ranges::find(request_.validated, epoch, &ValidatedCheckpoint::epoch);
    return found == request_.validated.end() ? nullptr : &*found;
  }

  // Inserts checkpoints that were validated before and removed since (--keep-last) in their places.
  void add_removed() {
    std::vector<ValidatedCheckpoint>& all = result_.checkpoints;
    for (const ValidatedCheckpoint& one : request_.validated) {
      if (std::ranges::find(all, one.epoch, &ValidatedCheckpoint::epoch) != all.end()) continue;
      all.insert(std::ranges::upper_bound(all.begin(), all.empty() ? all.end() : all.end() - 1,
                                          one.epoch, {}, &ValidatedCheckpoint::epoch),
                 one);
    }
  }

  int64_t batches() const { return (setup_.data.sets.test.size() + batch_ - 1) / batch_; }

  // Writes a line to the log and above the progress bar.
  void say(const std::string& line) {
    log_.directory().log(line);
    progress_.message(line);
  }

  // Does so also with --quiet.
  void say_always(const std::string& line) {
    if (log_.quiet()) return log_.say_always(line);
    say(line);
  }

  bool load(const CheckpointFile& file) {
    if (file.path.empty()) return true;
    const std::string problem = setup_.instances.from_first([&]() -> std::string {
      try {
        const LoadReport report = setup_.model.load_weights(file.path.string());
        for (const std::string& line : report.out_of_range) {
          say(fmt::format("warning: {}: {}", file.path.string(), line));
        }
        if (!report.average_decay.empty() && !has_loaded_) {
          say(average_note(file.path.string(), report));
        }
        return "";
      } catch (const IoError& error) {
        return error.what();
      }
    });
    if (problem.empty()) {
      has_loaded_ = true;
      share_weights(setup_.instances, setup_.model);
      return true;
    }
    result_.damaged.push_back(file.path.string());
    say_always(fmt::format("error: {} is left out: {}", file.path.string(), problem));
    return false;
  }

  // Loads the weights of the last checkpoint, for the class report.
  void take_known(const CheckpointFile& file, const ValidatedCheckpoint& found) {
    const bool is_last = &file == &files_.back();
    if (is_last && has_loaded_ && !load(file)) return;
    result_.checkpoints.push_back(found);
  }

  void validate(const CheckpointFile& file) {
    if (request_.stop()) throw Stopped();
    if (const ValidatedCheckpoint* found = known(file.epoch)) return take_known(file, *found);
    const int64_t before = done_;
    done_ += batches();
    if (!load(file)) return;
    const auto on_execution_end = [&](int64_t steps, const Logs& logs) {
      if (steps < batches() && request_.stop()) throw Stopped();
      progress_.update(before + steps, logs);
    };
    const Logs logs = setup_.model.evaluate(
        setup_.test_set(), {.batch_size = batch_,
                            .data_workers = setup_.options.data.pipeline_num_parallel,
                            .on_execution_end = on_execution_end});
    const ValidatedCheckpoint found{file.epoch, find_value(logs, "loss").value_or(kNone),
                                    find_value(logs, setup_.task().metric).value_or(kNone)};
    tell_validation(mlperf_, found, setup_.task());
    result_.checkpoints.push_back(found);
    say(validation_line(row_of(found)));
    if (request_.record) request_.record(row_of(found));
  }

  // Steps are counted as in training: micro-batches of all replicas.
  HistoryRow row_of(const ValidatedCheckpoint& found) const {
    const double since = seconds_since(request_.start);
    const BatchConfiguration& batch = setup_.batch;
    const double steps =
        static_cast<double>(setup_.updates * batch.gradient_accumulation_count * batch.replicas);
    return {.epoch = found.epoch,
            .step = std::llround(found.epoch * steps),
            .seconds = request_.seconds_before + since,
            .val_loss = found.loss,
            .val_metric = found.figure,
            .metric_name = setup_.task().metric};
  }

  TrainingSetup& setup_;
  RunLog& log_;
  const ValidationRequest& request_;
  MlperfLog off_;
  MlperfLog& mlperf_;
  int64_t batch_;
  std::vector<CheckpointFile> files_;
  bool has_loaded_ = false;  // whether the weights of a file were loaded
  int64_t done_ = 0;         // micro-batches of earlier checkpoints
  train::Progress progress_;
  ValidationResult result_;
};

void tell_target(RunLog& log, const ValidationResult& result, const ValidationFlags& flags,
                 const Task& task) {
  if (!flags.has_target()) return;
  const auto reached = epoch_to_target(result.checkpoints, flags.target_accuracy, task);
  const double shown = (task.is_fraction ? 100 : 1) * flags.target_accuracy;
  log.say(fmt::format("epoch_to_target: {} (target {}: {:g}{})",
                      reached ? epoch_text(*reached) : "not reached", task.metric, shown,
                      task.is_fraction ? " %" : ""));
  if (!flags.sweep) return;
  const auto metric = optimization_metric(result.checkpoints, flags.target_accuracy);
  log.say("optimization_metric: " + (metric ? fmt::format("{:.6g}", *metric) : "unknown"));
}

// The last line is the result, also for programs that read only the last accuracy of a log.
void tell_result(RunLog& log, const ValidationResult& result, const Task& task) {
  const ValidatedCheckpoint& last = result.checkpoints.back();
  const ValidatedCheckpoint& best = best_of(result.checkpoints, task);
  const auto text_of = [&](const ValidatedCheckpoint& one) {
    return fmt::format("test loss: {:.4f}, test {}: {}", one.loss, task.metric,
                       figure_text(task, one.figure));
  };
  if (task.is_better(best.figure, last.figure)) {
    log.say(fmt::format("best: epoch {} with {}", epoch_text(best.epoch), text_of(best)));
  }
  log.say_always(text_of(last));
}

}  // namespace

std::string average_note(const std::string& file, const LoadReport& report) {
  return fmt::format("{}: the weights are moving averages of those of training (--ema-decay {})",
                     file, report.average_decay);
}

Logs ValidationResult::figures(const ValidationFlags& flags, const Task& task) const {
  if (checkpoints.empty()) return {};
  const ValidatedCheckpoint& best = best_of(checkpoints, task);
  Logs logs = {{"val_loss", checkpoints.back().loss},
               {"val_" + task.metric, checkpoints.back().figure},
               {"best_val_" + task.metric, best.figure},
               {"best_epoch", best.epoch}};
  if (flags.has_target()) {
    const auto reached = epoch_to_target(checkpoints, flags.target_accuracy, task);
    if (reached) logs.emplace_back("epoch_to_target", *reached);
  }
  if (flags.sweep) {
    const auto metric = optimization_metric(checkpoints, flags.target_accuracy);
    if (metric) logs.emplace_back("optimization_metric", *metric);
  }
  return logs;
}

std::vector<ValidatedCheckpoint> validations_in_history(const Instances& instances,
                                                        const fs::path& run_dir) {
  std::vector<ValidatedCheckpoint> found;
  const std::string text = instances.from_first([&] {
    std::string lines;
    for (const HistoryRow& row :
         read_history(run_dir / "history.json", std::numeric_limits<int64_t>::max())) {
      if (!row.val_loss || !row.val_metric) continue;
      lines += fmt::format("{} {} {}\n", row.epoch, *row.val_loss, *row.val_metric);
    }
    return lines;
  });
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> numbers = split(line, ' ');
    if (numbers.size() != 3) continue;
    const auto number = [&](size_t i) { return parse_double(numbers[i]).value_or(0); };
    std::erase_if(found, [&](const auto& one) { return one.epoch == number(0); });
    found.push_back({number(0), number(1), number(2)});
  }
  std::ranges::sort(found, {}, &ValidatedCheckpoint::epoch);
  return found;
}

ValidationResult validate_checkpoints(TrainingSetup& setup, RunLog& log,
                                      const ValidationRequest& request) {
  ValidationResult result = ValidationPhase(setup, log, request).run();
  setup.drop_features();  // reports show samples
  if (result.stopped || result.checkpoints.empty()) return result;
  const bool reads_files = !setup.options.phases.training && !result.files.empty();
  if (reads_files && setup.instances.is_first()) {
    compare_class_names(setup, result.files.back().path, log);
  }
  tell_report(setup, log);
  tell_target(log, result, setup.options.phases, setup.task());
  tell_result(log, result, setup.task());
  return result;
}

}  // namespace pando::app
