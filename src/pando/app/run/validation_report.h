// Reports after a validation how well the network distinguishes the classes of the test data.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

#include "pando/app/job/agreed_signal.h"
#include "pando/app/record/run_log.h"
#include "pando/app/run/training_setup.h"

namespace pando::app {

inline constexpr const char* kClassNamesNote = "class_names";  // of a checkpoint

// Takes the class names of a checkpoint if the data have none, and warns if those of the data are
// other ones.
void compare_class_names(TrainingSetup& setup, const std::filesystem::path& checkpoint,
                         RunLog& log);

// Writes the names of the classes to the run directory, if the data have names.
void write_class_names(const TrainingSetup& setup, RunLog& log);

// Writes the report of the task to the run directory and shows it: of a classifier the class report
// (class_report.h), if the classes fit on a screen, of a regression the target report
// (target_report.h), of a segmentation the overlaps and pictures (segmentation_report.h).
void tell_report(TrainingSetup& setup, RunLog& log);

// The same in the middle of training, only as files. Gives up as soon as a signal arrives, so that
// the weights are saved soon. All instances call it.
void keep_report(TrainingSetup& setup, RunLog& log, const AgreedSignal& signal);

}  // namespace pando::app
