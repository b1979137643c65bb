// SPDX-License-Identifier: MIT
#include "pando/runtime/machine/device_set.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "pando/base/error.h"

namespace pando::runtime {
namespace {

// Far above any machine; keeps "0-999999999" from filling the memory.
constexpr int kHighestThread = 65535;

using Cores = std::vector<int>;  // hardware threads
using Nodes = std::map<int, Cores>;

// The place of a thread's core in core_threads, or nothing if the topology does not list the
// thread.
std::optional<size_t> core_of(const Topology& topology, int thread) {
  const auto place_in = [&](const Cores& threads) {
    return static_cast<size_t>(std::find(threads.begin(), threads.end(), thread) - threads.begin());
  };
  const size_t place = place_in(topology.affinity);
  if (place < topology.affinity_cores.size()) {
    return static_cast<size_t>(topology.affinity_cores[place]);
  }
  const size_t core = place_in(topology.core_threads);
  if (core < topology.core_threads.size()) return core;
  return std::nullopt;
}

int node_of(const Topology& topology, int thread) {
  const auto core = core_of(topology, thread);
  return core && *core < topology.core_nodes.size() ? topology.core_nodes[*core] : 0;
}

// One thread of each core, by node.
Nodes cores_by_node(const Topology& topology) {
  Nodes nodes;
  for (const int thread : topology.core_threads) nodes[node_of(topology, thread)].push_back(thread);
  PANDO_CHECK(!nodes.empty(), "a topology without cores");
  return nodes;
}

int size_of(const Cores& cores) { return static_cast<int>(cores.size()); }

// How many devices of `size` cores fit on the nodes.
int room_for(const Nodes& nodes, int size) {
  int room = 0;
  for (const auto& [node, cores] : nodes) room += size_of(cores) / size;
  return room;
}

// Moves the first `count` cores of a node to `taken`.
void take(Cores& node, int count, Cores& taken) {
  taken.insert(taken.end(), node.begin(), node.begin() + count);
  node.erase(node.begin(), node.begin() + count);
}

Cores take_from_all(Nodes& nodes, int size) {
  Cores taken;
  for (auto& [node, cores] : nodes) {
    take(cores, std::min(size - size_of(taken), size_of(cores)), taken);
  }
  return taken;
}

// Every core has at most one worker. Up to `left_over` devices get one core more than `size`.
std::vector<Cores> divide_apart(Nodes free, int devices, int size, int left_over) {
  std::vector<Cores> division;
  for (int waiting = devices - 1; waiting >= 0; --waiting) {
    const auto has_room = [&](const auto& entry) { return size_of(entry.second) >= size; };
    const auto found = std::find_if(free.begin(), free.end(), has_room);
    if (found == free.end()) {
      division.push_back(take_from_all(free, size + (left_over > 0 ? 1 : 0)));
      if (left_over > 0) --left_over;
      continue;
    }
    Cores& node = found->second;
    take(node, size, division.emplace_back());
    if (left_over == 0 || node.empty()) continue;
    const int room = std::min(room_for(free, size), waiting);
    Cores more;
    take(node, 1, more);
    if (std::min(room_for(free, size), waiting) < room) {
      node.insert(node.begin(), more.front());  // a later device needs it
      continue;
    }
    division.back().push_back(more.front());
    --left_over;
  }
  return division;
}

// The first `count` cores.
Nodes keep_first(Nodes nodes, int count) {
  for (auto& [node, cores] : nodes) {
    cores.resize(static_cast<size_t>(std::min(size_of(cores), count)));
    count -= size_of(cores);
  }
  return nodes;
}

// The `size` cores with the fewest workers so far; if there are fewer cores, they are used again in
// turn.
Cores least_used(Cores candidates, int size, const std::map<int, int>& workers) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](int a, int b) { return workers.at(a) < workers.at(b); });
  Cores chosen;
  for (int i = 0; i < size; ++i) {
    chosen.push_back(candidates[static_cast<size_t>(i % size_of(candidates))]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Cores have several workers, as evenly as nodes allow.
std::vector<Cores> divide_shared(const Nodes& nodes, int devices, int size) {
  std::map<int, int> workers;
  std::vector<Cores> choices;  // what a device may choose from
  Cores all;
  for (const auto& [node, cores] : nodes) {
    for (const int core : cores) workers[core] = 0;
    if (size_of(cores) >= size) choices.push_back(cores);
    all.insert(all.end(), cores.begin(), cores.end());
  }
  if (choices.empty()) choices.push_back(all);
  const auto load = [&](const Cores& cores) {
    int sum = 0;
    for (const int core : cores) sum += workers.at(core);
    return sum;
  };
  std::vector<Cores> division;
  for (int device = 0; device < devices; ++device) {
    Cores best;
    for (const Cores& choice : choices) {
      Cores offered = least_used(choice, size, workers);
      if (best.empty() || load(offered) < load(best)) best = std::move(offered);
    }
    for (const int core : best) ++workers[core];
    division.push_back(std::move(best));
  }
  return division;
}

void check_core_sets(const Topology& topology, const DeviceRequest& request) {
  const size_t count = request.core_sets.size();
  if (request.cores_per_device > 0) {
    throw InvalidArgument(
        "devices: expected core sets or cores per device, got both; remove one of them");
  }
  if (request.devices > 1 && count != static_cast<size_t>(request.devices)) {
    throw InvalidArgument("devices: expected one core set for each of ", request.devices,
                          " devices, got ", count);
  }
  for (size_t i = 0; i < count; ++i) {
    const Cores& cores = request.core_sets[i];
    if (cores.empty()) {
      throw InvalidArgument("core set ", i, ": expected at least one hardware thread, got none");
    }
    std::set<int> seen;
    std::set<int> foreign;
    for (const int thread : cores) {
      if (!seen.insert(thread).second) {
        throw InvalidArgument("core set ", i, ": expected each hardware thread once, got ", thread,
                              " twice");
      }
      const auto& allowed = topology.affinity;
      if (std::find(allowed.begin(), allowed.end(), thread) == allowed.end()) {
        foreign.insert(thread);
      }
    }
    if (!foreign.empty()) {
      throw InvalidArgument("core set ", i, ": this process may not use hardware threads ",
                            to_ranges({foreign.begin(), foreign.end()}), "; choose from ",
                            to_ranges(topology.affinity));
    }
  }
}

void check_counts(const DeviceRequest& request) {
  const int devices = std::max(request.devices, static_cast<int>(request.core_sets.size()));
  if (request.devices < 1 || devices > kMostDevices) {
    throw InvalidArgument("devices: expected 1 to ", kMostDevices, ", got ",
                          request.devices < 1 ? request.devices : devices);
  }
  if (request.cores_per_device < 0 || request.cores_per_device > kMostCoresPerDevice) {
    throw InvalidArgument("cores per device: expected 1 to ", kMostCoresPerDevice,
                          ", or 0 for an even division, got ", request.cores_per_device);
  }
}

std::vector<Cores> divide(const Topology& topology, const DeviceRequest& request) {
  if (!request.core_sets.empty()) return request.core_sets;
  const Nodes nodes = cores_by_node(topology);
  const int usable = std::min(topology.usable_cores(), size_of(topology.core_threads));
  const int asked = request.cores_per_device;
  const int size = asked > 0 ? asked : std::max(usable / request.devices, 1);
  if (int64_t{size} * request.devices > usable) {
    return divide_shared(keep_first(nodes, usable), request.devices, size);
  }
  return divide_apart(nodes, request.devices, size, asked > 0 ? 0 : usable % request.devices);
}

int most_frequent_node(const Topology& topology, const Cores& cores) {
  std::map<int, int> count;
  for (const int thread : cores) ++count[node_of(topology, thread)];
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(count.begin(), count.end(), fewer)->first;
}

// A core is shared by devices that use any of its threads. Two workers of one device share a core
// only if they use the same thread.
void mark_shared(const Topology& topology, std::vector<DeviceCores>& devices) {
  const auto core_number = [&](int thread) {
    const auto core = core_of(topology, thread);
    return core ? static_cast<int>(*core) : -1 - thread;
  };
  std::map<int, std::set<int>> users;  // of each core
  for (const DeviceCores& device : devices) {
    for (const int thread : device.cores) users[core_number(thread)].insert(device.id);
  }
  for (DeviceCores& device : devices) {
    device.shared =
        std::set<int>(device.cores.begin(), device.cores.end()).size() < device.cores.size();
    for (const int thread : device.cores) {
      if (users[core_number(thread)].size() > 1) device.shared = true;
    }
  }
}

int parse_thread(std::string_view text, std::string_view whole) {
  const auto number = parse_int(trim(text));
  if (!number || *number < 0 || *number > kHighestThread) {
    throw InvalidArgument("core sets '", whole, "': expected hardware threads from 0 to ",
                          kHighestThread, ", such as '0-3;4-7,9', got '", trim(text), "'");
  }
  return static_cast<int>(*number);
}

// "4-7" or "9".
Cores parse_range(std::string_view text, std::string_view whole) {
  const size_t dash = text.find('-');
  const int first = parse_thread(text.substr(0, dash), whole);
  const int last =
      dash == std::string_view::npos ? first : parse_thread(text.substr(dash + 1), whole);
  if (last < first) {
    throw InvalidArgument("core sets '", whole, "': expected the lower number first, got '",
                          trim(text), "'");
  }
  Cores cores;
  for (int thread = first; thread <= last; ++thread) cores.push_back(thread);
  return cores;
}

}  // namespace

std::vector<DeviceCores> divide_machine(const Topology& topology, const DeviceRequest& request) {
  check_counts(request);
  if (!request.core_sets.empty()) check_core_sets(topology, request);
  std::vector<DeviceCores> devices;
  for (Cores& cores : divide(topology, request)) {
    const int node = most_frequent_node(topology, cores);
    devices.push_back({.id = static_cast<int>(devices.size()),
                       .cores = std::move(cores),
                       .numa_node = node,
                       .shared = false});
  }
  mark_shared(topology, devices);
  return devices;
}

Topology part_of(const Topology& topology, int index, int count) {
  if (count == 1) return topology;
  const DeviceCores own = divide_machine(topology, {.devices = count})[static_cast<size_t>(index)];
  Topology part = topology;
  part.affinity.clear();
  part.affinity_cores.clear();
  part.core_threads.clear();
  part.core_nodes.clear();
  std::vector<int> places(topology.core_threads.size(), -1);  // of cores, in the part
  for (size_t core = 0; core < topology.core_threads.size(); ++core) {
    const int thread = topology.core_threads[core];
    if (std::find(own.cores.begin(), own.cores.end(), thread) == own.cores.end()) continue;
    places[core] = static_cast<int>(part.core_threads.size());
    part.core_threads.push_back(thread);
    part.core_nodes.push_back(topology.core_nodes[core]);
  }
  for (size_t i = 0; i < topology.affinity.size(); ++i) {
    const int place = places[static_cast<size_t>(topology.affinity_cores[i])];
    if (place < 0) continue;
    part.affinity.push_back(topology.affinity[i]);
    part.affinity_cores.push_back(place);
  }
  part.allowed_cores = static_cast<int>(part.core_threads.size());
  if (part.limits.cpus) part.limits.cpus = *part.limits.cpus / count;
  return part;
}

Topology topology_of(const comm::Job& job) {
  return part_of(query_topology(), job.core_share, job.core_shares);
}

std::vector<int> threads_beside(const Topology& topology, const std::vector<int>& device_cores) {
  std::set<int> used;  // places in core_threads
  for (size_t i = 0; i < topology.affinity.size(); ++i) {
    const bool is_devices = std::ranges::count(device_cores, topology.affinity[i]) > 0;
    if (is_devices) used.insert(topology.affinity_cores[i]);
  }
  std::vector<int> beside;
  for (size_t i = 0; i < topology.affinity.size(); ++i) {
    if (!used.contains(topology.affinity_cores[i])) beside.push_back(topology.affinity[i]);
  }
  return beside;
}

std::string device_table(const std::vector<DeviceCores>& devices, const Topology& topology) {
  std::string text = fmt::format("{:<8} {:>7}  {:<10} {:<7} {}\n", "device", "workers", "NUMA node",
                                 "shared", "hardware threads");
  size_t workers = 0;
  for (const DeviceCores& device : devices) {
    const std::set<int> threads(device.cores.begin(), device.cores.end());
    std::set<int> nodes;
    for (const int thread : threads) nodes.insert(node_of(topology, thread));
    text += fmt::format("{:<8} {:>7}  {:<10} {:<7} {}\n", device.id, device.cores.size(),
                        to_ranges({nodes.begin(), nodes.end()}), device.shared ? "yes" : "no",
                        to_ranges({threads.begin(), threads.end()}));
    workers += device.cores.size();
  }
  const int cores = topology.usable_cores();
  return text + fmt::format("({} worker{} in all, {} usable core{})\n", workers,
                            workers == 1 ? "" : "s", cores, cores == 1 ? "" : "s");
}

std::vector<std::vector<int>> parse_core_sets(std::string_view text) {
  std::vector<std::vector<int>> sets;
  for (const std::string& set : split(text, ';')) {
    Cores& cores = sets.emplace_back();
    for (const std::string& range : split(set, ',')) {
      const Cores threads = parse_range(range, text);
      cores.insert(cores.end(), threads.begin(), threads.end());
    }
  }
  return sets;
}

}  // namespace pando::runtime
