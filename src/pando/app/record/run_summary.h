// summary.json of a run directory: options, progress and results of a run. The file is small, so
// that a reader can load a thousand of them at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/app/record/history_writer.h"
#include "pando/app/record/sparkline.h"
#include "pando/zoo/task.h"

namespace pando::app {

constexpr const char* kSummaryFile = "summary.json";

// How a run ended, or that it goes on. A run that was killed could not say so: its file says
// `running`, but nobody holds the lock of its folder.
enum class RunState { unknown, running, done, stopped, failed, killed };
const char* to_string(RunState state);

// What is known before the first step.
struct SummaryFacts {
  std::string command = "train";  // or "validate"
  std::string model;
  std::string dataset;
  std::string id;     // of the run (run_mark.h)
  double epochs = 0;  // that the run is going to train; 0: none
  int64_t instances = 1;
  int64_t replicas = 1;
  Task task = all_tasks().front();
};

// The best value of the metric of the task.
struct BestValue {
  double value = 0;
  double epoch = 0;
  bool of_validation = true;  // false: a training figure; there is no validation yet
};

struct RunSummary {
  SummaryFacts facts;
  RunState state = RunState::running;
  std::string cause;   // why it is no longer running; may be empty
  double started = 0;  // seconds since 1970, also of a run that was resumed
  double updated = 0;  // the same, of this file
  double seconds = 0;  // that the run has taken, without its pauses
  double epoch = 0;    // that are trained
  int64_t step = 0;
  std::optional<BestValue> best;
  std::vector<std::pair<std::string, double>> last;  // the newest value of every column
  std::string curve;                                 // the column of `points`
  std::vector<double> points;                        // at most Sparkline::kMostPoints
};

std::string to_json_text(const RunSummary& summary);
// Throws IoError if the text is not a summary, and for one of a later version.
RunSummary parse_summary(std::string_view text);

struct SummaryOptions {
  std::filesystem::path folder;
  SummaryFacts facts;
  double started = 0;                 // 0: now
  std::vector<HistoryRow> rows = {};  // of a run that is resumed
  // Rows are written to the file at this rate at most, after `burst` of them at any rate: a run
  // that logs seldom is always up to date, one that logs often is late by an interval.
  std::chrono::milliseconds interval{2'000};
  int burst = 5;
};

// Keeps the file of a run. Used by one thread. The file is replaced as a whole, so readers never
// see a part of it.
class SummaryWriter {
 public:
  // Throws IoError.
  explicit SummaryWriter(SummaryOptions options);
  // A run that ends without end() has failed.
  ~SummaryWriter();
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // Never throws because of the file: the next row or the end writes it again.
  void add(const HistoryRow& row);
  // Throws IoError.
  void end(RunState state, const std::string& cause);

 private:
  using Clock = std::chrono::steady_clock;

  void take(const HistoryRow& row);
  void note_best(const HistoryRow& row);
  void write();
  bool may_write();

  const SummaryOptions options_;
  RunSummary summary_;
  Sparkline loss_;
  Sparkline validation_;  // of the metric
  double tokens_;         // writes that are allowed now
  Clock::time_point refilled_ = Clock::now();
  Clock::duration write_time_{};  // that the last one took
};

// When the run of a folder began, according to the summary that is there; 0 if there is none.
double start_in(const std::filesystem::path& folder);

}  // namespace pando::app
