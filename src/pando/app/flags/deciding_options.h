// The options that the results of a run depend on, in one form, as checkpoints record them.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pando/app/flags/train_options.h"
#include "pando/train/training_state.h"

namespace pando::app {

// A map of every option that the weights depend on (Effect, options.h) to its effective value: what
// is not given has its default, and a learning rate per sample is multiplied by the batch size.
// Leaves out options that count as a property of the run.
ConfigValue deciding_options(const TrainOptions& options);

// The notes of a checkpoint that record these options.
inline constexpr const char* kOptionsNote = "options";
inline constexpr const char* kModelFileNote = "model_file";      // only to find it again
inline constexpr const char* kDatasetPathNote = "dataset_path";  // only to find the data again

// The options that a checkpoint records. One of an earlier version, which has no kOptionsNote,
// records only a few.
ConfigValue recorded_options(const TrainingState& state);

// Whether the value of an option differs between a checkpoint and this run.
struct OptionDifference {
  const Option& option;
  std::string recorded;
  std::string now;
};

// Calls `see` for every option of this run whose value is not the recorded one.
void compare_options(const TrainOptions& options, const TrainingState& state,
                     const std::function<void(const OptionDifference&)>& see);

}  // namespace pando::app
