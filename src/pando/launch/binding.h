// Which hardware threads each instance of a host is bound to.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "pando/runtime/machine/topology.h"

namespace pando::launch {

struct InstanceCores {
  std::vector<int> threads;  // all hardware threads of its cores that this process may use
  std::vector<int> nodes;    // the NUMA nodes of its cores, as the system numbers them
  int cores = 0;
  bool shared = false;  // with another instance
};

// Divides what this process may use (its affinity and control group count): whole cores, within
// one NUMA node where a node has room, or, not `numa_aware`, in the order of their numbers.
// Instances share cores when there are more of them than cores.
std::vector<InstanceCores> bind_instances(const runtime::Topology& topology, int instances,
                                          bool numa_aware);

// What the user should know of cores that are shared; empty when there are enough.
// `devices` is the number of each instance.
std::vector<std::string> binding_warnings(const std::vector<InstanceCores>& instances, int devices);

}  // namespace pando::launch
