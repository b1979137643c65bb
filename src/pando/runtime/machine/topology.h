// The resources that this process may use: cores, caches, memory, instruction sets, and the limits
// that affinity and control groups set.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pando::runtime {

// All caches of one level and kind.
struct CacheLevel {
  std::string name;       // "L1d", "L2", "L3"
  int64_t bytes = 0;      // of one cache
  int count = 0;          // in the machine
  int sharing_cores = 0;  // cores that share one cache
};

struct ControlGroupLimits {
  std::optional<double> cpus;           // processor time, in cores
  std::optional<int64_t> memory_bytes;  // the smallest limit on the way to the root
};

struct Topology {
  std::string cpu_model;
  int packages = 0;
  int numa_nodes = 0;
  int cores = 0;
  int hardware_threads = 0;
  std::vector<CacheLevel> caches;
  std::vector<int> affinity;  // hardware threads this process may run on (numbers of the system)
  int allowed_cores = 0;      // cores with at least one of those threads
  std::vector<int> core_threads;    // one of those threads for each such core
  std::vector<int> core_nodes;      // the NUMA node of each of core_threads (system's number)
  std::vector<int> affinity_cores;  // for each of `affinity`, the place of its core in core_threads
  ControlGroupLimits limits;
  int64_t memory_bytes = 0;
  std::vector<std::string> instruction_sets;  // those that matter to kernels

  // How many single-threaded workers get a core of their own: the allowed cores, or fewer when a
  // control group grants less time (rounded up, at least 1).
  int usable_cores() const;
  // The machine's memory or the control group's limit, whichever is smaller.
  int64_t usable_memory_bytes() const;
};

// Asks hwloc and the system. Throws ResourceError when the machine cannot be read.
Topology query_topology();

// The name of the processor, or "unknown".
std::string query_cpu_model();

// The limits of a process whose /proc/self/cgroup reads `membership`, below `root`
// (/sys/fs/cgroup). Supports versions 1 and 2; a missing or unreadable file sets no limit.
ControlGroupLimits read_control_group_limits(const std::string& root, std::string_view membership);

// From the text of /proc/cpuinfo: the name of the processor, the instruction sets of interest.
std::string parse_cpu_model(std::string_view cpuinfo);
std::vector<std::string> parse_instruction_sets(std::string_view cpuinfo);

// {0, 1, 2, 5} -> "0-2,5".
std::string to_ranges(const std::vector<int>& numbers);

}  // namespace pando::runtime
