// Finds the checkpoint that a run resumes from: --resume.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pando/app/run/training_setup.h"

namespace pando::app {

// Reads the state that --resume names and restores the model from it. Returns nothing without the
// flag, or with `auto` if there is no checkpoint yet. The first instance reads the file and sends
// the state to all. `tell` receives a line for each damaged checkpoint that is skipped and for each
// difference that check_same_run() allows. Throws UsageError if the checkpoint belongs to another
// run, and IoError if no checkpoint can be read.
std::optional<TrainingState> find_resume_state(TrainingSetup& setup,
                                               const std::function<void(const std::string&)>& tell);

// "resuming from FILE, after 12 weight updates", with the loss scaling factor if it is automatic.
std::string describe_resumed(const TrainingSetup& setup, const TrainingState& state);

// Whether the state is a checkpoint in the folder that a run with these options writes to.
bool is_in_own_folder(const TrainingState& state, const TrainOptions& options);
// Whether the run directory is that of the state too. A checkpoint from elsewhere begins a new
// history.
bool is_of_this_run(const TrainingState& state, const TrainOptions& options);

// Throws UsageError if a run without training would use the --run-dir of an earlier run, because it
// would move the files of that run away instead of validating them.
void refuse_to_hide(const TrainOptions& options);

}  // namespace pando::app
