// Decides which hardware threads each instance of a host is bound to.
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
  bool shared = false;  // whether it shares cores with another instance
};

// Divides the cores that this process may use (according to its affinity and control group). Each
// instance gets whole cores: within one NUMA node where a node has room or, without `numa_aware`,
// in the order of their numbers. Instances share cores if there are more instances than cores.
std::vector<InstanceCores> bind_instances(const runtime::Topology& topology, int instances,
                                          bool numa_aware);

// Warnings about shared cores; empty if there are enough. `devices` is the number of devices of
// each instance.
std::vector<std::string> binding_warnings(const std::vector<InstanceCores>& instances, int devices);

}  // namespace pando::launch
