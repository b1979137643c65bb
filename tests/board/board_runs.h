// Folders of runs for tests, made by what runs write them with.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pando/app/record/history_writer.h"
#include "pando/app/record/run_summary.h"
#include "tests/support/temp_folder.h"

namespace pando::board {

inline app::HistoryRow row_at(int64_t step) {
  return {.epoch = static_cast<double>(step) / 10,
          .step = step,
          .loss = 1.0 / static_cast<double>(step),
          .metric = 0.5,
          .throughput = 100,
          .learning_rate = 0.1,
          .seconds = static_cast<double>(step)};
}

inline app::RunSummary summary_with(app::RunState state) {
  app::RunSummary summary;
  summary.facts.model = "mnist_cnn";
  summary.facts.dataset = "fashion_mnist";
  summary.facts.epochs = 4;
  summary.state = state;
  summary.epoch = 2;
  summary.updated = 1000;
  summary.best = app::BestValue{.value = 0.875, .epoch = 2, .of_validation = true};
  summary.curve = "loss";
  summary.points = {1, 0.5, 0.25};
  return summary;
}

inline void write_summary(const std::filesystem::path& run, const app::RunSummary& summary) {
  std::filesystem::create_directories(run);
  std::ofstream(run / app::kSummaryFile) << app::to_json_text(summary);
}

// A run that is done, with config.yml and this many rows.
inline void write_run(const std::filesystem::path& run, int64_t rows = 3) {
  write_summary(run, summary_with(app::RunState::done));
  std::ofstream(run / "config.yml") << "model: mnist_cnn\nseed: " << rows << "\n";
  app::HistoryWriter history(run / "history.csv", run / "history.json");
  for (int64_t step = 1; step <= rows; ++step) history.append(row_at(step));
}

}  // namespace pando::board
