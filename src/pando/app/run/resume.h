// From where a run goes on: --resume.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "pando/app/run/training_setup.h"

namespace pando::app {

// What a run is, for its checkpoints: another one must not go on from them unnoticed.
std::map<std::string, std::string> run_notes(const TrainingSetup& setup);

// The state that --resume names; nothing without the flag, or with `auto` when there is no
// checkpoint yet. `tell` gets a line for each damaged checkpoint that is passed over and for what
// differs without harm. The first instance reads it, for all. The model then stands there. Throws
// UsageError when the checkpoint is of another run, IoError when there is no good one.
std::optional<TrainingState> find_resume_state(TrainingSetup& setup,
                                               const std::function<void(const std::string&)>& tell);

// "going on from FILE, after 12 weight updates", and with which loss scaling factor if it is
// automatic.
std::string describe_resumed(const TrainingSetup& setup, const TrainingState& state);

// Whether the state is a checkpoint in the folder that a run with these options writes; one of
// another run begins a new history.
bool is_of_this_run(const TrainingState& state, const TrainOptions& options);

// Without training, an earlier run in --run-dir would move aside and not be looked at: throws
// UsageError.
void refuse_to_hide(const TrainOptions& options);

}  // namespace pando::app
