// SPDX-License-Identifier: MIT
#include "pando/app/record/run_directory.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "pando/app/record/run_mark.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"
#include "pando/base/temporary_file.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array kContents = {"config.yml",
                                  "history.csv",
                                  "history.json",
                                  "log.txt",
                                  "checkpoints",
                                  "wandb.jsonl",
                                  "curves.svg",
                                  "class_report.txt",
                                  "class_report.csv",
                                  "confusion.csv",
                                  "confusion.svg",
                                  "best_epoch.h5",
                                  "class_names.txt",
                                  kSummaryFile,
                                  "run.json",
                                  "report.html",
                                  "class_report.json",
                                  "class_samples.png",
                                  "load.csv",
                                  "input.json",
                                  "input.png",
                                  "target_report.txt",
                                  "target_report.json",
                                  "targets.svg",
                                  "segmentation_report.txt",
                                  "segmentation_report.csv",
                                  "segmentation_report.json",
                                  "segmentation.png",
                                  "segmentation_samples.png",
                                  kRunMark};
constexpr std::string_view kEventFiles = "events.out.tfevents.";  // a prefix of their names

// The names of the files that an earlier run left.
std::vector<std::string> contents_of(const fs::path& path) {
  std::vector<std::string> names;
  for (const char* name : kContents) {
    if (fs::exists(fs::symlink_status(path / name))) names.emplace_back(name);
  }
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(kEventFiles, 0) == 0) names.push_back(name);
  }
  return names;
}

std::string time_text(std::time_t time) {
  if (time == 0) time = std::time(nullptr);
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
  return text.data();
}

constexpr const char* kOtherPlace =
    "choose another one with --run-dir, or --output-dir for pando validate";

// Throws ResourceError if another run writes to the folder.
std::unique_ptr<FolderLock> lock_of(const fs::path& folder, const std::string& name) {
  const auto give_up = [&] {
    throw ResourceError("run directory ", folder.string(),
                        ": another run is writing to it; wait until it ends or ", kOtherPlace);
  };
  return std::make_unique<FolderLock>(FolderLockOptions{
      .folder = folder.string(), .name = name, .remedy = kOtherPlace, .when_busy = give_up});
}

void create(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error)) error = make_error_code(std::errc::not_a_directory);
  if (error) {
    throw IoError("run directory ", path.string(), ": cannot be created: ", error.message(), "; ",
                  kOtherPlace);
  }
}

// create_directory returns true only to the process that created the folder, so two runs that start
// in the same second get different folders.
fs::path create_default(const RunDirectoryOptions& options) {
  create("runs");
  const std::string name = concat("runs/", options.model, "-", time_text(options.time));
  for (int number = 1;; ++number) {
    fs::path path = number == 1 ? name : concat(name, "-", number);
    std::error_code error;
    if (fs::create_directory(path, error)) return path;
    if (error && !fs::exists(path)) create(path);
  }
}

// Moves the files of an earlier run; returns their new folder, or an empty path if there were none.
fs::path move_aside(const fs::path& path) {
  const std::vector<std::string> names = contents_of(path);
  if (names.empty()) return {};
  // Another run may write its checkpoints there (--checkpoint-output-dir).
  if (fs::is_directory(path / "checkpoints")) lock_of(path / "checkpoints", kCheckpointLock);
  sweep_temporaries((path / "checkpoints").string());  // no run writes there after the move
  int number = 1;
  while (fs::exists(path / concat("previous-", number))) ++number;
  fs::path previous = path / concat("previous-", number);
  try {
    fs::create_directory(previous);
    for (const std::string& name : names) fs::rename(path / name, previous / name);
  } catch (const fs::filesystem_error& error) {
    throw IoError("run directory ", path.string(),
                  ": the files of an earlier run cannot be moved: ", error.code().message(),
                  "; choose another directory with --run-dir");
  }
  return previous;
}

// A history that a crash of the machine cut off does not stop the run: the file is renamed.
std::vector<HistoryRow> readable_history(const fs::path& json, int64_t last_step,
                                         std::string& warning) {
  try {
    return read_history(json, last_step);
  } catch (const IoError& error) {
    fs::rename(json, json.string() + ".damaged");
    warning = concat("warning: ", error.what(), "; renamed to ", json.filename().string(),
                     ".damaged, the history begins anew");
    return {};
  }
}

}  // namespace

RunDirectory::RunDirectory(const RunDirectoryOptions& options) {
  if (!options.writes) {
    path_ = options.path;
    return;
  }
  if (options.path.empty()) {
    path_ = create_default(options);
    lock_ = lock_of(path_, ".lock");
  } else {
    path_ = options.path;
    create(path_);
    lock_ = lock_of(path_, ".lock");
    if (!options.resumed_step) previous_ = move_aside(path_);
  }
  if (!options.run_id.empty()) {
    write_mark(path_, {.id = options.run_id, .directory = fs::absolute(path_).string()});
  }
  store::replace_file((path_ / "config.yml").string(), {std::as_bytes(std::span(options.config))});
  const fs::path json = path_ / "history.json";
  std::vector<HistoryRow> kept;
  if (options.resumed_step) kept = readable_history(json, *options.resumed_step, warning_);
  if (options.validates_again) std::erase_if(kept, [](const HistoryRow& row) { return !row.loss; });
  if (!kept.empty()) seconds_before_ = kept.back().seconds.value_or(0);
  log_ = std::make_unique<AppendFile>(path_ / "log.txt", options.resumed_step.has_value());
  history_ = std::make_unique<HistoryWriter>(path_ / "history.csv", json, kept);
  SummaryOptions summary{.folder = path_, .facts = options.facts, .rows = std::move(kept)};
  if (summary.facts.model.empty()) summary.facts.model = options.model;
  summary.facts.id = options.run_id;
  if (options.resumed_step) summary.started = start_in(path_);
  summary_ = std::make_unique<SummaryWriter>(std::move(summary));
}

bool RunDirectory::attempt(const std::function<void()>& part) {
  if (!defers_) {
    part();
    return true;
  }
  try {
    part();
    return true;
  } catch (const IoError& error) {
    const std::string reason = error.what();
    if (std::ranges::find(failures_, reason) == failures_.end()) failures_.push_back(reason);
    return false;
  }
}

void RunDirectory::append_history(const HistoryRow& row) {
  if (history_) attempt([&] { history_->append(row); });
  if (summary_) summary_->add(row);
  // After a failure the file of a sink must not be written again.
  std::erase_if(sinks_, [&](const auto& sink) { return !attempt([&] { sink->write(row); }); });
}

void RunDirectory::summarize(const Logs& figures) {
  for (const auto& sink : sinks_) attempt([&] { sink->summarize(figures); });
}

void RunDirectory::log(std::string_view line) {
  if (log_) attempt([&] { log_->append(concat(line, '\n')); });
}

void RunDirectory::end(RunState state, const std::string& cause) {
  if (summary_) attempt([&] { summary_->end(state, cause); });
}

}  // namespace pando::app
