// The second phase of a run: validates every checkpoint, in the order of epochs, on all test data.
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
  // What is validated: a file of weights, or the checkpoints of a folder. Without either, or if the
  // folder has none, the current weights of the model.
  std::filesystem::path file;
  std::filesystem::path folder;
  // The weights that training ended with, if they are not those of its last epoch. They are
  // validated last, as the result, from the checkpoint of that epoch or, if there is none, from
  // this file.
  std::optional<CheckpointFile> restored = std::nullopt;
  // Earlier validations, in the order of epochs, which are not repeated.
  std::vector<ValidatedCheckpoint> validated = {};
  bool trained = false;  // whether the weights of the model come from training
  double epoch = 0;      // of the weights of the model
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double seconds_before = 0;  // of the run, at `start`
  // Called by all instances after every execution: whether to stop the validation.
  std::function<bool()> stop = [] { return false; };
  // Receives a row of the history for every checkpoint.
  std::function<void(const HistoryRow&)> record = nullptr;
  MlperfLog* mlperf = nullptr;
};

struct ValidationResult {
  std::vector<ValidatedCheckpoint> checkpoints;  // as validated; the last one is the result
  std::vector<std::string> damaged;              // files that could not be read
  std::vector<CheckpointFile> files;             // the checkpoints chosen for validation
  bool stopped = false;                          // before the last of them

  // The figures of the whole run, for records of experiments.
  Logs figures(const ValidationFlags& flags, const Task& task) const;
};

// The validations in the history of a run before it was resumed, for all instances.
std::vector<ValidatedCheckpoint> validations_in_history(const Instances& instances,
                                                        const std::filesystem::path& run_dir);

// Says that the weights of a file are averages. Requires: they are.
std::string average_note(const std::string& file, const LoadReport& report);

// Logs a line for every checkpoint and the result at the end, with --sweep also its figures. Names
// damaged files and skips them. The first instance reads the files for all. The model keeps the
// weights of the last one. Throws IoError for a folder that cannot be read, InvalidArgument for
// weights of another model.
ValidationResult validate_checkpoints(TrainingSetup& setup, RunLog& log,
                                      const ValidationRequest& request);

}  // namespace pando::app
