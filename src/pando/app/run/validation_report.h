// Which classes a network tells apart on the test data, after their validation.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "pando/app/record/run_log.h"
#include "pando/app/run/training_setup.h"
#include "pando/train/classification.h"

namespace pando::app {

// The report of all test data, with the weights that the model has; nothing when the model or its
// labels are not those of a classifier.
std::optional<ClassReport> report_classes(TrainingSetup& setup);

// Writes it into the run directory (class_report.h) and shows it where the classes fit on a screen.
void tell_class_report(TrainingSetup& setup, RunLog& log);

}  // namespace pando::app
