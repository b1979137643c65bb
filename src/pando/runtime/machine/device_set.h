// The division of the machine among devices: which hardware threads each one has.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/comm/job.h"
#include "pando/runtime/machine/topology.h"

namespace pando::runtime {

constexpr int kMostDevices = 1024;
constexpr int kMostCoresPerDevice = 4096;

struct DeviceRequest {
  int devices = 1;
  // Hardware threads per device. Excludes cores_per_device; with devices = 1, the number of sets is
  // the number of devices.
  std::vector<std::vector<int>> core_sets;
  int cores_per_device = 0;  // 0: an even division of what this process may use
};

struct DeviceCores {
  int id = 0;
  std::vector<int> cores;  // hardware threads, one worker each
  int numa_node = 0;       // where most of them are
  bool shared = false;     // some core has workers of another device, or two of this one
};

// Divides evenly: consecutive cores, node by node. A device has cores of several nodes only when no
// node has room for it. Left-over cores go to the first devices, one each, unless a device would
// then have to be spread over nodes. Devices share cores when there are not enough.
// Throws InvalidArgument for numbers out of range, core sets that do not match the number of
// devices, and hardware threads that this process may not use.
std::vector<DeviceCores> divide_machine(const Topology& topology, const DeviceRequest& request);

// The topology of part `index` of `count` equal parts, for processes that divide a machine:
// consecutive cores, node by node. Parts share cores if there are more parts than cores.
Topology part_of(const Topology& topology, int index, int count);
// The cores that this process may use as an instance of a job.
Topology topology_of(const comm::Job& job);

// The hardware threads of the cores that no device uses, for the host's own work; empty when the
// devices use all cores.
std::vector<int> threads_beside(const Topology& topology, const std::vector<int>& device_cores);

// One row per device, then the numbers of workers and of usable cores.
std::string device_table(const std::vector<DeviceCores>& devices, const Topology& topology);

// "0-3;4-7,9" -> {{0, 1, 2, 3}, {4, 5, 6, 7, 9}}. Throws InvalidArgument.
std::vector<std::vector<int>> parse_core_sets(std::string_view text);

}  // namespace pando::runtime
