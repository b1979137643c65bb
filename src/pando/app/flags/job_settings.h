// What the job that a run is part of decides about its options: replicas, files, and where it goes
// on when the launcher has started it again.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/app/flags/train_options.h"
#include "pando/app/job/instances.h"

namespace pando::app {

// Takes the number of replicas from the launcher unless that has only a default, divides them among
// the instances, and leaves to the first instance what only it does. Gives what users should know,
// a line each. Throws UsageError for replicas that cannot be divided. Calls no other instance.
// Before the options are checked.
std::vector<std::string> settle_job(OptionTable& table, TrainOptions& options);

// Throws UsageError when the launcher gives a replica another number of devices than the options.
void check_devices_per_replica(const DeviceFlags& devices);

// What is left to choose together, after the options are known to agree: the slices that the cores
// of the first instance suggest. All instances call it.
void settle_together(const Instances& instances, TrainOptions& options);

// Leaves in a run directory which job it is of, so that the job finds it again. Does nothing
// outside of jobs with a name (PANDO_JOB). Throws IoError.
void mark_job(const std::string& run_dir);

}  // namespace pando::app
