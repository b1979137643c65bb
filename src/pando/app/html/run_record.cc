// SPDX-License-Identifier: MIT
#include "pando/app/html/run_record.h"

#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "pando/base/control_group.h"
#include "pando/base/error.h"
#include "pando/base/folder_lock.h"
#include "pando/base/named_values.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/options/config_value.h"
#include "pando/options/usage_error.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

void read_options(RunRecord& run) {
  const fs::path path = run.folder / "config.yml";
  if (!path_exists(path)) return;
  try {
    const ConfigValue config = load_yaml(path.string());
    for (size_t i = 0; i < config.keys.size(); ++i) {
      const ConfigValue& value = config.items[i];
      const bool is_text = value.kind == ConfigValue::Kind::scalar;
      run.options.emplace_back(config.keys[i], is_text ? value.text : to_yaml(value));
    }
  } catch (const UsageError& error) {
    run.problems.emplace_back(error.what());
  } catch (const IoError& error) {
    run.problems.emplace_back(error.what());
  }
}

// How a run of an earlier version, which has no summary.json, ended.
void guess_end(RunRecord& run) {
  std::ifstream file(run.folder / "log.txt");
  RunSummary& summary = run.summary;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("failed: ")) {
      summary.state = RunState::failed;
      summary.cause = line.substr(std::string("failed: ").size());
    } else if (line.starts_with("stopped by ")) {
      summary.state = RunState::stopped;
      summary.cause = line;
    } else if (line.starts_with("time to train") || line.starts_with("test loss")) {
      summary.state = RunState::done;
    }
  }
}

// Whether a run whose summary says "running" was killed. False if the file system cannot tell.
bool is_abandoned(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const std::optional<bool> held = is_lock_held(descriptor);
  ::close(descriptor);
  return held && !*held;
}

void read_summary(RunRecord& run) {
  run.summary.state = RunState::unknown;
  const fs::path path = run.folder / kSummaryFile;
  if (!path_exists(path)) return guess_end(run);
  try {
    run.summary = parse_summary(read_system_file(path));
    if (run.summary.state == RunState::running && is_abandoned(run.folder)) {
      run.summary.state = RunState::killed;
    }
  } catch (const IoError& error) {
    run.problems.push_back(concat(path.string(), ": not a summary of a run: ", error.what()));
    guess_end(run);
  }
}

void read_facts(RunRecord& run) {
  try {
    if (const auto facts = read_run_facts(run.folder)) {
      run.facts = *facts;
      return;
    }
  } catch (const IoError& error) {
    run.problems.emplace_back(error.what());
  }
  run.facts.model = run.option("model");
  run.facts.dataset = run.option("dataset");
  run.facts.seed = parse_int(run.option("seed")).value_or(0);
}

std::optional<BestValue> best_of_column(const std::vector<HistoryRow>& rows, const Task& task,
                                        std::optional<double> HistoryRow::*column) {
  std::optional<BestValue> best;
  for (const HistoryRow& row : rows) {
    const std::optional<double>& value = row.*column;
    const double worst = task.larger_is_better ? -std::numeric_limits<double>::infinity()
                                               : std::numeric_limits<double>::infinity();
    if (!value || !task.is_better(*value, best ? best->value : worst)) continue;
    best = BestValue{
        .value = *value, .epoch = row.epoch, .of_validation = column == &HistoryRow::val_metric};
  }
  return best;
}

}  // namespace

const Task& RunRecord::task() const {
  for (const Task& task : all_tasks()) {
    if (task.name == facts.task) return task;
  }
  return task_of_metric(rows.empty() ? "accuracy" : rows.back().metric_name);
}

std::string RunRecord::option(const std::string& wanted) const {
  const std::string* const found = find_named(options, wanted);
  return found == nullptr ? "" : *found;
}

std::optional<BestValue> best_value(const std::vector<HistoryRow>& rows, const Task& task) {
  const std::optional<BestValue> best = best_of_column(rows, task, &HistoryRow::val_metric);
  return best ? best : best_of_column(rows, task, &HistoryRow::metric);
}

std::vector<HistoryRow> read_rows(const fs::path& json, int64_t* skipped) {
  std::vector<HistoryRow> rows;
  std::ifstream file(json);
  for (std::string line; std::getline(file, line);) {
    if (std::optional<HistoryRow> row = parse_history_line(line)) {
      rows.push_back(std::move(*row));
    } else if (skipped != nullptr && line != "[" && line != "]" && !trim(line).empty()) {
      ++*skipped;
    }
  }
  return rows;
}

RunRecord read_run(const fs::path& folder, HistoryRows rows) {
  if (!is_folder(folder)) {
    throw IoError(folder.string(), ": expected the directory of a run, got ",
                  path_exists(folder) ? "a file" : "nothing of this name");
  }
  RunRecord run{.folder = folder,
                .name = fs::absolute(folder).lexically_normal().filename().string()};
  if (run.name.empty()) {  // the path ends with a slash
    run.name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
  }
  const bool known = path_exists(folder / kRunFactsFile) || path_exists(folder / "config.yml") ||
                     path_exists(folder / "history.json");
  if (!known) {
    throw IoError(folder.string(), ": is not the directory of a run: it has neither ",
                  kRunFactsFile, " nor config.yml nor history.json; pando train writes them");
  }
  read_options(run);
  read_facts(run);
  read_summary(run);
  if (rows == HistoryRows::skip) return run;
  int64_t skipped = 0;
  run.rows = read_rows(folder / "history.json", &skipped);
  if (skipped > 0) {
    run.problems.push_back(concat((folder / "history.json").string(), ": ",
                                  counted(skipped, "damaged line"), " left out"));
  }
  return run;
}

}  // namespace pando::app
