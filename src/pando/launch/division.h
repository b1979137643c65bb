// How a job is divided: instances over hosts, replicas over instances.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/launch/run_options.h"

namespace pando::launch {

struct JobDivision {
  std::vector<std::string> hosts;  // empty: only this machine
  int instances = 1;
  int replicas = 1;
  int devices_per_replica = 1;

  int instances_per_host() const;
  int replicas_per_instance() const { return replicas / instances; }
  int devices_per_instance() const { return replicas_per_instance() * devices_per_replica; }
};

// The nodes of the Slurm allocation that this process runs in, as written in SLURM_JOB_NODELIST;
// empty: no allocation.
std::string allocated_hosts();

// Divides the job. Uses the hosts of `allocation` if the options name none. Throws UsageError with
// the numbers if something does not divide evenly.
JobDivision divide_job(const RunOptions& options,
                       const std::string& allocation = allocated_hosts());

}  // namespace pando::launch
