// Options of a run that its job decides: the number of replicas, which instance writes files, and
// where the run continues after the launcher has restarted it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/app/flags/train_options.h"
#include "pando/app/job/instances.h"

namespace pando::app {

// Takes the number of replicas from the launcher unless that is only a default, divides the
// replicas among the instances, and switches off, on all instances but the first, what only the
// first does. Returns a line for each thing that users should know. Call it before the options are
// checked. Sends no messages. Throws UsageError for replicas that cannot be divided.
std::vector<std::string> settle_job(OptionTable& table, TrainOptions& options);

// Throws UsageError when the launcher gives a replica another number of devices than the options.
void check_devices_per_replica(const DeviceFlags& devices);

// Chooses the number of slices from the cores of the first instance, for all instances. All
// instances call it, after their options were found to agree.
void settle_together(const Instances& instances, TrainOptions& options);

// Writes the name of the job into a run directory, so that the restarted job finds the directory.
// Does nothing outside of jobs with a name (PANDO_JOB). Throws IoError.
void mark_job(const std::string& run_dir);

}  // namespace pando::app
