// Reads the files in a run directory for pages. Writes nothing. Files that are missing, damaged or
// half written do not stop the reading.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pando/app/record/history_writer.h"
#include "pando/app/record/run_facts.h"
#include "pando/app/record/run_summary.h"
#include "pando/zoo/task.h"

namespace pando::app {

struct RunRecord {
  std::filesystem::path folder;
  std::string name;  // of the folder
  // For a run of an earlier version, what config.yml and log.txt tell.
  RunFacts facts;
  RunSummary summary;  // `killed` if it says that the run goes on, but nobody has the folder locked
  std::vector<std::pair<std::string, std::string>> options;  // in the order of config.yml
  std::vector<HistoryRow> rows;
  std::vector<std::string> problems;  // files that could not be read, with reasons

  const Task& task() const;
  // The text of an option; empty if there is none.
  std::string option(const std::string& name) const;
};

// skip: the caller reads history.json itself, such as one that follows it.
enum class HistoryRows { read, skip };

// Throws IoError if the folder does not exist or has no file of a run.
RunRecord read_run(const std::filesystem::path& folder, HistoryRows rows = HistoryRows::read);

// Returns nothing if no row has a value.
std::optional<BestValue> best_value(const std::vector<HistoryRow>& rows, const Task& task);

// The rows of a history.json, in its order. A line that is not a row is skipped: the end of a file
// that is being written, or what a crash left. `skipped` counts these lines, if it is given.
std::vector<HistoryRow> read_rows(const std::filesystem::path& json, int64_t* skipped = nullptr);

}  // namespace pando::app
