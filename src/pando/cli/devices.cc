// `pando devices`: shows the cores and memory of this machine and how devices divide them.
// SPDX-License-Identifier: MIT
#include <optional>

#include <fmt/core.h>

#include "pando/app/flags/core_flags.h"
#include "pando/app/job/exit_code.h"
#include "pando/base/json.h"
#include "pando/base/memory_limit.h"
#include "pando/base/strings.h"
#include "pando/cli/listing.h"
#include "pando/cli/program.h"
#include "pando/runtime/machine/device_set.h"
#include "pando/runtime/machine/topology.h"

namespace pando::cli {
namespace {

using runtime::DeviceCores;
using runtime::Topology;

struct DevicesFlags : app::CoreFlags {
  std::optional<int> devices;
};

void add_flags(OptionTable& table, DevicesFlags& flags) {
  table.add("devices", flags.devices, "number of devices to divide the cores among; 1 if not given")
      .with_alias("num-devices")
      .with_hint("N")
      .at_least(1)
      .at_most(runtime::kMostDevices);
  app::add_core_flags(table, flags);
}

std::vector<DeviceCores> divide(const Topology& topology, const DevicesFlags& flags) {
  const runtime::DeviceRequest request{.devices = flags.devices.value_or(1),
                                       .core_sets = core_sets_of(flags),
                                       .cores_per_device = flags.cores_per_device};
  const size_t sets = request.core_sets.size();
  if (sets == 0) return divide_machine(topology, request);
  if (flags.devices && sets != static_cast<size_t>(*flags.devices)) {
    throw UsageError("--core-sets: expected one set for each device (--devices ", *flags.devices,
                     "), got ", sets);
  }
  try {
    return divide_machine(topology, request);
  } catch (const InvalidArgument& error) {
    throw UsageError("--core-sets: ", error.what());
  }
}

Json to_json(const std::vector<DeviceCores>& devices) {
  Json list = Json::array();
  for (const DeviceCores& device : devices) {
    list.push_back({{"id", device.id},
                    {"cores", device.cores},
                    {"numa_node", device.numa_node},
                    {"shared", device.shared}});
  }
  return list;
}

Json to_json(const Topology& topology) {
  Json json = {{"cpu_model", topology.cpu_model},
               {"packages", topology.packages},
               {"numa_nodes", topology.numa_nodes},
               {"cores", topology.cores},
               {"hardware_threads", topology.hardware_threads},
               {"affinity", topology.affinity},
               {"allowed_cores", topology.allowed_cores},
               {"usable_cores", topology.usable_cores()},
               {"memory_bytes", topology.memory_bytes},
               {"usable_memory_bytes", topology.usable_memory_bytes()},
               {"instruction_sets", topology.instruction_sets}};
  json["cpu_limit"] = nullptr;
  if (topology.limits.cpus) json["cpu_limit"] = *topology.limits.cpus;
  json["memory_limit_bytes"] = nullptr;
  if (topology.limits.memory_bytes) json["memory_limit_bytes"] = *topology.limits.memory_bytes;
  json["memory_limits"] = Json::array();
  for (const MemoryLimit& limit : memory_limits()) {
    json["memory_limits"].push_back(
        {{"name", limit.name}, {"bytes", limit.bytes}, {"left_bytes", limit.left}});
  }
  json["caches"] = Json::array();
  for (const runtime::CacheLevel& cache : topology.caches) {
    json["caches"].push_back({{"name", cache.name},
                              {"bytes", cache.bytes},
                              {"count", cache.count},
                              {"sharing_cores", cache.sharing_cores}});
  }
  return json;
}

void print_table(const Topology& topology, std::ostream& out) {
  const auto line = [&](std::string_view name, const std::string& value) {
    out << fmt::format("{:<20} {}\n", name, value);
  };
  const auto memory = [](int64_t bytes) { return human_bytes(static_cast<double>(bytes)); };
  line("processor", topology.cpu_model);
  line("packages", std::to_string(topology.packages));
  line("NUMA nodes", std::to_string(topology.numa_nodes));
  line("cores", fmt::format("{} ({} hardware threads)", topology.cores, topology.hardware_threads));
  for (const runtime::CacheLevel& cache : topology.caches) {
    line(cache.name + " cache",
         fmt::format("{} x {}, each for {} core{}", cache.count, memory(cache.bytes),
                     cache.sharing_cores, cache.sharing_cores == 1 ? "" : "s"));
  }
  line("instruction sets", join(topology.instruction_sets, " "));
  line("memory", memory(topology.memory_bytes));
  line("affinity", fmt::format("hardware threads {} ({} cores)",
                               runtime::to_ranges(topology.affinity), topology.allowed_cores));
  line("control group",
       fmt::format("{} cores, {} memory",
                   topology.limits.cpus ? fmt::format("{}", *topology.limits.cpus) : "all",
                   topology.limits.memory_bytes ? memory(*topology.limits.memory_bytes) : "all"));
  for (const MemoryLimit& limit : memory_limits()) {
    line("memory left", describe(limit, {}));
  }
  line("usable", fmt::format("{} cores, {}", topology.usable_cores(),
                             memory(topology.usable_memory_bytes())));
}

}  // namespace

int command_devices(std::span<const std::string> args, std::ostream& out) {
  DevicesFlags flags;
  const ListingForm form = parse_listing_flags(
      args, out,
      "usage: pando devices [flags]\n\nShows what this machine offers to a process started "
      "here (cores, caches, memory, and the\nlimits of affinity and control group) and how the "
      "cores are divided among devices.\n\n",
      [&](OptionTable& table) { add_flags(table, flags); });
  if (form == ListingForm::answered) return 0;
  const Topology topology = runtime::query_topology();
  const std::vector<DeviceCores> devices = divide(topology, flags);
  if (form == ListingForm::json) {
    Json json = to_json(topology);
    json["devices"] = to_json(devices);
    out << json.dump(2) << '\n';
  } else {
    print_table(topology, out);
    out << '\n' << runtime::device_table(devices, topology);
  }
  return 0;
}

}  // namespace pando::cli
