// What a run says of itself before it begins.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/app/record/run_log.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

// "4 replicas", in a job also on how many instances.
std::string replicas_text(const TrainingSetup& setup);

void announce(const TrainingSetup& setup, double compile_seconds, RunLog& log);

}  // namespace pando::app
