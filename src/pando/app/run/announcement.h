// Prints what a run is about to do before it begins.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/app/record/run_log.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

// "4 replicas", or in a job "4 replicas on 2 instances".
std::string replicas_text(const TrainingSetup& setup);

void announce(const TrainingSetup& setup, double compile_seconds, RunLog& log);

}  // namespace pando::app
