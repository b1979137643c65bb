// SPDX-License-Identifier: MIT
#include "pando/runtime/machine/topology.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <type_traits>

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include "pando/base/control_group.h"
#include "pando/base/error.h"

namespace pando::runtime {
namespace {

using TopologyHandle =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;

TopologyHandle load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw ResourceError("hwloc: cannot create a topology");
  TopologyHandle topology(raw, &hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0) {
    throw ResourceError("hwloc: cannot read the topology of this machine");
  }
  return topology;
}

std::vector<CacheLevel> find_caches(hwloc_topology_t topology) {
  const std::pair<hwloc_obj_type_t, const char*> kinds[] = {
      {HWLOC_OBJ_L1CACHE, "L1d"}, {HWLOC_OBJ_L1ICACHE, "L1i"}, {HWLOC_OBJ_L2CACHE, "L2"},
      {HWLOC_OBJ_L3CACHE, "L3"},  {HWLOC_OBJ_L4CACHE, "L4"},
  };
  std::vector<CacheLevel> caches;
  for (const auto& [type, name] : kinds) {
    const int count = hwloc_get_nbobjs_by_type(topology, type);
    if (count <= 0) continue;
    const hwloc_obj_t first = hwloc_get_obj_by_type(topology, type, 0);
    const int sharing =
        hwloc_get_nbobjs_inside_cpuset_by_type(topology, first->cpuset, HWLOC_OBJ_CORE);
    caches.push_back({.name = name,
                      .bytes = static_cast<int64_t>(first->attr->cache.size),
                      .count = count,
                      .sharing_cores = std::max(sharing, 1)});
  }
  return caches;
}

void find_affinity(hwloc_topology_t topology, Topology& result) {
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> set(hwloc_bitmap_alloc(),
                                                                          &hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(set.get(), hwloc_topology_get_allowed_cpuset(topology));
  }
  hwloc_bitmap_and(set.get(), set.get(), hwloc_topology_get_allowed_cpuset(topology));
  for (int i = hwloc_bitmap_first(set.get()); i >= 0; i = hwloc_bitmap_next(set.get(), i)) {
    result.affinity.push_back(i);
  }
  result.affinity_cores.assign(result.affinity.size(), -1);
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr) {
    bool is_ours = false;
    for (size_t i = 0; i < result.affinity.size(); ++i) {
      const int thread = result.affinity[i];
      if (hwloc_bitmap_isset(core->cpuset, static_cast<unsigned>(thread)) == 0) continue;
      if (!is_ours) result.core_threads.push_back(thread);
      is_ours = true;
      result.affinity_cores[i] = static_cast<int>(result.core_threads.size()) - 1;
    }
  }
  // Some virtual machines hide their cores.
  for (size_t i = 0; i < result.affinity.size(); ++i) {
    if (result.affinity_cores[i] >= 0) continue;
    result.affinity_cores[i] = static_cast<int>(result.core_threads.size());
    result.core_threads.push_back(result.affinity[i]);
  }
  result.allowed_cores = static_cast<int>(result.core_threads.size());
  for (const int thread : result.core_threads) {
    const hwloc_obj_t unit = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(thread));
    const int node =
        unit == nullptr || unit->nodeset == nullptr ? 0 : hwloc_bitmap_first(unit->nodeset);
    result.core_nodes.push_back(std::max(node, 0));
  }
}

// The value after "key :" in a text of such lines; empty if there is none.
std::string_view find_field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) {
      return trim(line.substr(colon + 1));
    }
  }
  return {};
}

template <typename T>
void keep_smaller(std::optional<T>& limit, std::optional<T> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

// "200000 100000" -> 2 cores; "max 100000" -> none.
std::optional<double> quota_in_cores(std::string_view quota, std::string_view period) {
  const auto time = parse_int(trim(quota));
  const auto of = parse_int(trim(period));
  if (!time || !of || *time <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*time) / static_cast<double>(*of);
}

std::optional<int64_t> memory_limit(std::string_view text) {
  const auto bytes = parse_int(trim(text));
  // Version 1 writes "no limit" as the largest whole page below 2^63.
  if (!bytes || *bytes <= 0 || *bytes > (int64_t{1} << 62)) return std::nullopt;
  return bytes;
}

void read_version_2(const std::filesystem::path& folder, ControlGroupLimits& limits) {
  const std::vector<std::string> words =
      split(trim(std::string_view(read_system_file(folder / "cpu.max"))), ' ');
  if (words.size() == 2) keep_smaller(limits.cpus, quota_in_cores(words[0], words[1]));
  keep_smaller(limits.memory_bytes, memory_limit(read_system_file(folder / "memory.max")));
}

void read_version_1(const std::filesystem::path& folder, ControlGroupLimits& limits) {
  keep_smaller(limits.cpus, quota_in_cores(read_system_file(folder / "cpu.cfs_quota_us"),
                                           read_system_file(folder / "cpu.cfs_period_us")));
  keep_smaller(limits.memory_bytes,
               memory_limit(read_system_file(folder / "memory.limit_in_bytes")));
}

}  // namespace

int Topology::usable_cores() const {
  int usable = std::max(allowed_cores, 1);
  if (limits.cpus) usable = std::min(usable, static_cast<int>(std::ceil(*limits.cpus)));
  return std::max(usable, 1);
}

int64_t Topology::usable_memory_bytes() const {
  return std::min(memory_bytes, limits.memory_bytes.value_or(memory_bytes));
}

Topology query_topology() {
  const TopologyHandle handle = load_topology();
  const auto count = [&](hwloc_obj_type_t type) {
    return std::max(hwloc_get_nbobjs_by_type(handle.get(), type), 0);
  };
  Topology result;
  result.packages = count(HWLOC_OBJ_PACKAGE);
  result.numa_nodes = count(HWLOC_OBJ_NUMANODE);
  result.cores = count(HWLOC_OBJ_CORE);
  result.hardware_threads = count(HWLOC_OBJ_PU);
  result.caches = find_caches(handle.get());
  find_affinity(handle.get(), result);
  const std::string cpuinfo = read_system_file("/proc/cpuinfo");
  result.cpu_model = parse_cpu_model(cpuinfo);
  result.instruction_sets = parse_instruction_sets(cpuinfo);
  result.limits =
      read_control_group_limits("/sys/fs/cgroup", read_system_file("/proc/self/cgroup"));
  result.memory_bytes = static_cast<int64_t>(hwloc_get_root_obj(handle.get())->total_memory);
  return result;
}

std::string query_cpu_model() { return parse_cpu_model(read_system_file("/proc/cpuinfo")); }

ControlGroupLimits read_control_group_limits(const std::string& root, std::string_view membership) {
  ControlGroupLimits limits;
  for (const ControlGroup& group : control_groups(root, membership)) {
    group.is_version_2() ? read_version_2(group.folder, limits)
                         : read_version_1(group.folder, limits);
  }
  return limits;
}

std::string parse_cpu_model(std::string_view cpuinfo) {
  for (const char* key : {"model name", "Model", "cpu"}) {
    const std::string_view found = find_field(cpuinfo, key);
    if (!found.empty()) return std::string(found);
  }
  return "unknown";
}

std::vector<std::string> parse_instruction_sets(std::string_view cpuinfo) {
  std::string_view flags = find_field(cpuinfo, "flags");
  if (flags.empty()) flags = find_field(cpuinfo, "Features");
  const std::vector<std::string> present = split(flags, ' ');
  std::vector<std::string> found;
  for (const char* name :
       {"sse4_2",   "avx",      "f16c",        "fma",         "avx2",        "avx512f",  "avx512dq",
        "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile",
        "amx_bf16", "amx_fp16", "asimd",       "asimdhp",     "bf16",        "sve"}) {
    if (std::find(present.begin(), present.end(), name) != present.end()) found.emplace_back(name);
  }
  return found;
}

std::string to_ranges(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (last > i) text += concat('-', numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace pando::runtime
