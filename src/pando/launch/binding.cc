// SPDX-License-Identifier: MIT
#include "pando/launch/binding.h"

#include <algorithm>
#include <set>

#include "pando/base/strings.h"
#include "pando/runtime/machine/device_set.h"

namespace pando::launch {
namespace {

// divide_machine() gives a device one hardware thread of each of its cores; an instance gets all of
// them.
InstanceCores with_all_threads(const runtime::Topology& topology,
                               const runtime::DeviceCores& device) {
  std::set<int> cores;  // indices into core_threads
  std::set<int> nodes;
  for (size_t i = 0; i < topology.core_threads.size(); ++i) {
    if (std::ranges::count(device.cores, topology.core_threads[i]) == 0) continue;
    cores.insert(static_cast<int>(i));
    nodes.insert(topology.core_nodes[i]);
  }
  InstanceCores instance{.threads = {},
                         .nodes = {nodes.begin(), nodes.end()},
                         .cores = static_cast<int>(cores.size()),
                         .shared = device.shared};
  for (size_t i = 0; i < topology.affinity.size(); ++i) {
    if (cores.contains(topology.affinity_cores[i])) {
      instance.threads.push_back(topology.affinity[i]);
    }
  }
  return instance;
}

}  // namespace

std::vector<InstanceCores> bind_instances(const runtime::Topology& topology, int instances,
                                          bool numa_aware) {
  runtime::Topology divided = topology;
  if (!numa_aware) std::ranges::fill(divided.core_nodes, 0);
  std::vector<InstanceCores> bound;
  for (const runtime::DeviceCores& device : divide_machine(divided, {.devices = instances})) {
    bound.push_back(with_all_threads(topology, device));
  }
  return bound;
}

std::vector<std::string> binding_warnings(const std::vector<InstanceCores>& instances,
                                          int devices) {
  std::set<int> threads;
  for (const InstanceCores& instance : instances) {
    threads.insert(instance.threads.begin(), instance.threads.end());
  }
  const bool shared = std::ranges::any_of(instances, &InstanceCores::shared);
  if (shared) {
    return {concat(instances.size(), " instances on this machine share its hardware threads ",
                   runtime::to_ranges({threads.begin(), threads.end()}),
                   ": fewer instances would be faster")};
  }
  const auto fewest = std::ranges::min_element(instances, {}, &InstanceCores::cores);
  if (devices <= fewest->cores) return {};
  return {concat("the ", devices, " devices of an instance share its ", fewest->cores,
                 fewest->cores == 1 ? " core" : " cores")};
}

}  // namespace pando::launch
