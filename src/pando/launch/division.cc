// SPDX-License-Identifier: MIT
#include "pando/launch/division.h"

#include <algorithm>

#include "pando/app/job/exit_code.h"
#include "pando/base/environment.h"
#include "pando/launch/hosts.h"
#include "pando/runtime/machine/device_set.h"

namespace pando::launch {

int JobDivision::instances_per_host() const {
  return instances / std::max(static_cast<int>(hosts.size()), 1);
}

std::string allocated_hosts() { return environment("SLURM_JOB_NODELIST"); }

JobDivision divide_job(const RunOptions& options, const std::string& allocation) {
  JobDivision job;
  if (!allocation.empty() && options.host.empty() && options.hostfile.empty()) {
    job.hosts = expand_hosts(allocation, "SLURM_JOB_NODELIST");
    if (job.hosts.size() == 1) job.hosts.clear();  // it is this machine
  }
  if (!options.host.empty()) job.hosts = expand_hosts(options.host, "--host");
  if (!options.hostfile.empty()) job.hosts = read_host_file(options.hostfile);
  job.instances = options.num_instances;
  job.replicas = options.num_replicas.value_or(job.instances);
  job.devices_per_replica = options.devices_per_replica;
  if (job.instances > job.replicas) {
    throw UsageError("--num-instances: expected at most one instance per replica, got ",
                     job.instances, " instances for ", job.replicas, " replicas");
  }
  if (job.replicas % job.instances != 0) {
    throw UsageError("--num-replicas: expected a multiple of the ", job.instances,
                     " instances, got ", job.replicas);
  }
  const int hosts = static_cast<int>(job.hosts.size());
  if (hosts > 1 && job.instances % hosts != 0) {
    throw UsageError("--num-instances: expected a multiple of the ", hosts, " hosts, got ",
                     job.instances);
  }
  if (job.instances_per_host() > runtime::kMostDevices) {
    throw UsageError("--num-instances: expected at most ", runtime::kMostDevices,
                     " on each host, got ", job.instances_per_host());
  }
  return job;
}

}  // namespace pando::launch
