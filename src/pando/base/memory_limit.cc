// SPDX-License-Identifier: MIT
#include "pando/base/memory_limit.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include <sys/resource.h>

#include "pando/base/control_group.h"
#include "pando/base/memory_use.h"

namespace pando {

namespace {

constexpr const char* kMachine = "the memory of this machine";

std::atomic<int64_t> chosen_limit = 0;

// The state before the instances of a job took memory.
struct AtStart {
  std::mutex mutex;
  int64_t resident = 0;
  std::map<std::string, int64_t> left;  // of shared limits, by name
};
AtStart& at_start() {
  static AtStart state;
  return state;
}

// The number after `key` at the begin of a line; `key` ends in what separates them.
std::optional<int64_t> number_after(std::string_view text, std::string_view key) {
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const std::vector<std::string> words =
        split(trim(std::string_view(line).substr(key.size())), ' ');
    return words.empty() ? std::nullopt : parse_int(words[0]);
  }
  return std::nullopt;
}

std::optional<int64_t> number_in(const std::filesystem::path& path) {
  return parse_int(trim(std::string_view(read_system_file(path))));
}

void add_machine(const MemoryFiles& files, std::vector<MemoryLimit>& limits) {
  const std::string text = read_system_file(std::filesystem::path(files.proc) / "meminfo");
  const auto total = number_after(text, "MemTotal:");
  const auto available = number_after(text, "MemAvailable:");
  const MemoryUse use = memory_use();
  MemoryLimit limit{.name = kMachine, .bytes = use.machine, .is_shared = true};
  limit.left = limit.bytes - use.resident;
  if (total && available) limit = {kMachine, *total << 10, *available << 10, true, false};
  limits.push_back(limit);
}

// Pages of files are dropped before a process is killed.
int64_t droppable(const ControlGroup& group) {
  const std::string text = read_system_file(group.folder / "memory.stat");
  const std::string_view prefix = group.is_version_2() ? "" : "total_";
  int64_t bytes = 0;
  for (const char* list : {"active_file ", "inactive_file "}) {
    bytes += number_after(text, concat(prefix, list)).value_or(0);
  }
  return bytes;
}

void add_control_group(const ControlGroup& group, std::vector<MemoryLimit>& limits) {
  const bool second = group.is_version_2();
  std::optional<int64_t> most =
      number_in(group.folder / (second ? "memory.max" : "memory.limit_in_bytes"));
  // Above memory.high a group is slowed down until it stands still.
  const auto high = second ? number_in(group.folder / "memory.high") : std::nullopt;
  if (high && (!most || *high < *most)) most = high;
  // Version 1 writes "no limit" as the largest whole page below 2^63.
  if (!most || *most <= 0 || *most > (int64_t{1} << 62)) return;
  const auto used = number_in(group.folder / (second ? "memory.current" : "memory.usage_in_bytes"));
  const int64_t kept =
      std::max<int64_t>(used.value_or(memory_use().resident) - droppable(group), 0);
  limits.push_back({concat("the control group ", group.name), *most, *most - kept, true, false});
}

void add_resource_limit(int resource, const char* name, int64_t used,
                        std::vector<MemoryLimit>& limits) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > (uint64_t{1} << 62)) return;
  const auto bytes = static_cast<int64_t>(limit.rlim_cur);
  limits.push_back({name, bytes, bytes - used, false, true});
}

}  // namespace

void set_memory_limit(int64_t bytes) { chosen_limit = bytes; }

std::vector<MemoryLimit> memory_limits(const MemoryFiles& files) {
  const MemoryUse use = memory_use();
  if (const int64_t chosen = chosen_limit; chosen > 0) {
    return {{"the memory limit of this run", chosen, chosen - use.resident, false, false}};
  }
  std::vector<MemoryLimit> limits;
  add_machine(files, limits);
  const std::string membership =
      read_system_file(std::filesystem::path(files.proc) / "self" / "cgroup");
  for (const ControlGroup& group : control_groups(files.control_groups, membership)) {
    const bool is_of_memory = group.is_version_2() || group.controller == "memory";
    if (is_of_memory) add_control_group(group, limits);
  }
  add_resource_limit(RLIMIT_AS, "ulimit -v", use.addresses, limits);
  add_resource_limit(RLIMIT_DATA, "ulimit -d", use.data, limits);
  return limits;
}

void remember_memory_at_start() {
  const std::vector<MemoryLimit> limits = memory_limits();
  AtStart& start = at_start();
  const std::lock_guard lock(start.mutex);
  start.resident = memory_use().resident;
  start.left.clear();
  for (const MemoryLimit& limit : limits) {
    if (limit.is_shared) start.left[limit.name] = limit.left;
  }
}

int64_t left_for(const MemoryLimit& limit, const MemoryNeed& need) {
  const int64_t left = limit.left - (limit.counts_addresses ? need.addresses : 0);
  if (!limit.is_shared || need.processes < 2) return left;
  AtStart& start = at_start();
  const std::lock_guard lock(start.mutex);
  const auto found = start.left.find(limit.name);
  if (found == start.left.end()) return left / need.processes;
  const int64_t taken = memory_use().resident - start.resident;
  return std::min(left, found->second / need.processes - taken);
}

const MemoryLimit& tightest(const std::vector<MemoryLimit>& limits, const MemoryNeed& need) {
  PANDO_CHECK(!limits.empty());
  return *std::ranges::min_element(limits, {},
                                   [&](const MemoryLimit& limit) { return left_for(limit, need); });
}

std::string describe(const MemoryLimit& limit, const MemoryNeed& need) {
  const auto text = [](int64_t bytes) {
    return human_bytes(static_cast<double>(std::max<int64_t>(bytes, 0)));
  };
  const bool divided = limit.is_shared && need.processes > 1;
  return concat(text(left_for(limit, need)), " of ", text(limit.bytes), " (", limit.name,
                ") are left",
                divided ? concat(" for each of ", need.processes, " instances") : std::string());
}

void require_memory(std::string_view what, int64_t bytes) {
  constexpr int64_t kAlwaysThere = int64_t{16} << 20;  // not worth asking the system
  if (bytes < kAlwaysThere) return;
  const MemoryNeed need{.bytes = bytes};
  const std::vector<MemoryLimit> limits = memory_limits();
  const MemoryLimit& limit = tightest(limits, need);
  if (bytes <= left_for(limit, need)) return;
  throw OverMemoryLimit(what, " need ", human_bytes(static_cast<double>(bytes)), ", but ",
                        describe(limit, need));
}

}  // namespace pando
