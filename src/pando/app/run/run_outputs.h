// What a run leaves for its report, beside its history: the load of the machine, some samples as
// they reach the devices, the planned schedule, and the report itself. If one of them cannot be
// written, the run warns and goes on.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <ostream>

#include "pando/app/record/load_recorder.h"
#include "pando/app/record/run_log.h"
#include "pando/app/record/run_mark.h"
#include "pando/app/run/training_setup.h"
#include "pando/profile/trace.h"

namespace pando::app {

// Null in all instances but the first, and if the system refuses another thread.
std::unique_ptr<LoadRecorder> begin_load(const TrainingSetup& setup, const RunDirectory& directory);

// Null is allowed.
void end_load(const TrainingSetup& setup, LoadRecorder* load);

// input.json and input.png.
void record_input(const TrainingSetup& setup, const RunDirectory& directory);

// Marks the folder of --profile as that of this run, before its files are written. The files that
// another run left there go, so that none of them is taken for one of this run. Throws IoError.
void claim_profile(const std::filesystem::path& folder, const RunMark& run);

// train_schedule.json in the folder of --profile, for a pipeline. Throws IoError.
void write_schedule(const TrainingSetup& setup, const profile::Trace& trace);

// report.html, if --report asks for it. Call it after RunDirectory::end().
void write_report_page(const TrainingSetup& setup, const RunDirectory& directory);

}  // namespace pando::app
