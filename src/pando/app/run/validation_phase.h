// The second phase of a run: every checkpoint, in the order of epochs, on all test data.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pando/app/record/checkpoint_list.h"
#include "pando/app/record/history_writer.h"
#include "pando/app/record/mlperf_log.h"
#include "pando/app/record/run_log.h"
#include "pando/app/report/validation_summary.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

struct ValidationRequest {
  // What is validated: a file of weights, or the checkpoints of a folder. Without either, or when
  // the folder has none, the weights that the model has.
  std::filesystem::path file;
  std::filesystem::path folder;
  // Of the folder only what is as new as this; other checkpoints are told of.
  std::optional<std::filesystem::file_time_type> written_since;
  // Of the folder only what is not after this epoch; other checkpoints are told of.
  std::optional<double> last_epoch = std::nullopt;
  // What training ended with, when that is not its last epoch: validated last, as the result, from
  // the checkpoint of that epoch or, when there is none, from this file.
  std::optional<CheckpointFile> restored = std::nullopt;
  // What was validated before, in the order of epochs: not measured again.
  std::vector<ValidatedCheckpoint> validated = {};
  bool trained = false;  // whether the weights of the model come from training
  double epoch = 0;      // of the weights of the model
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double seconds_before = 0;  // of the run, at `start`
  // Asked by all instances after every execution: whether validation ends there.
  std::function<bool()> stop = [] { return false; };
  // Gets a row of the history for every checkpoint.
  std::function<void(const HistoryRow&)> record = nullptr;
  MlperfLog* mlperf = nullptr;
};

struct ValidationResult {
  std::vector<ValidatedCheckpoint> checkpoints;  // as validated, the last one is the result
  std::vector<std::string> damaged;              // files that could not be read
  std::vector<CheckpointFile> files;             // the checkpoints that were to be validated
  bool stopped = false;                          // before the last of them

  // The figures of the whole run, for records of experiments.
  Logs figures(const ValidationFlags& flags) const;
};

// Says a line for every checkpoint and at the end the result, with --sweep also its figures. A file
// that is damaged is named and left out. The first instance reads the files, for all. The model
// keeps the weights of the last one. Throws IoError for a folder that cannot be read,
// InvalidArgument for weights of another model.
ValidationResult validate_checkpoints(TrainingSetup& setup, RunLog& log,
                                      const ValidationRequest& request);

}  // namespace pando::app
