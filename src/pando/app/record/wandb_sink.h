// Writes a record of an experiment as JSON lines, in place of a service that collects experiments:
// the configuration first, then a line for every row of the history, then the summary.
// SPDX-License-Identifier: MIT
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/record/append_file.h"
#include "pando/app/record/row_sink.h"

namespace pando::app {

struct WandbOptions {
  std::filesystem::path path;  // the file to write
  std::string run_name;
  std::vector<std::string> tags;
  std::string config_text;  // YAML
  std::time_t time = 0;     // the start of the run; 0: now
  // Set if the run resumes after this step: lines up to it stay, later rows are removed.
  std::optional<int64_t> resumed_step;
};

// "<model>-<dataset>-<time>".
std::string wandb_run_name(const std::string& model, const std::string& dataset, std::time_t time);

// Every line is one object with a "type": "config", "row", "resume" or "summary". Numbers that are
// not finite are null. Used by one thread. Throws IoError with path and reason.
class WandbSink : public RowSink {
 public:
  explicit WandbSink(const WandbOptions& options);

  void write(const HistoryRow& row) override;
  // Later calls add figures and replace figures of the same name.
  void summarize(const Logs& figures) override;

 private:
  std::unique_ptr<AppendFile> file_;
  Logs figures_;
};

}  // namespace pando::app
