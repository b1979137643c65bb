// SPDX-License-Identifier: MIT
#include "pando/app/record/run_facts.h"

#include <array>
#include <filesystem>
#include <span>
#include <vector>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pando/base/control_group.h"
#include "pando/base/cpu.h"
#include "pando/base/error.h"
#include "pando/base/json.h"
#include "pando/base/memory_use.h"
#include "pando/base/paths.h"
#include "pando/base/strings.h"
#include "pando/runtime/machine/topology.h"
#include "pando/store/atomic_file.h"

namespace pando::app {
namespace {

namespace fs = std::filesystem;

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

Json to_json(const MachineFacts& machine) {
  return {
      {"host", machine.host},   {"processor", machine.processor},       {"isa", machine.isa},
      {"cores", machine.cores}, {"memory_bytes", machine.memory_bytes}, {"system", machine.system}};
}

Json to_json(const RunFacts& facts) {
  return {{"command", facts.command},
          {"version", facts.version},
          {"activity", facts.activity},
          {"model", facts.model},
          {"dataset", facts.dataset},
          {"task", facts.task},
          {"train_samples", facts.train_samples},
          {"test_samples", facts.test_samples},
          {"parameters", facts.parameters},
          {"seed", facts.seed},
          {"updates_per_epoch", facts.updates_per_epoch},
          {"global_batch_size", facts.global_batch_size},
          {"instances", facts.instances},
          {"compile_seconds", facts.compile_seconds},
          {"profile", facts.profile},
          {"trace", facts.trace},
          {"machine", to_json(facts.machine)}};
}

MachineFacts machine_in(const Json& json) {
  return {.host = json.get<std::string>("host", ""),
          .processor = json.get<std::string>("processor", ""),
          .isa = json.get<std::string>("isa", ""),
          .cores = json.get<int>("cores", 0),
          .memory_bytes = json.get<int64_t>("memory_bytes", 0),
          .system = json.get<std::string>("system", "")};
}

RunFacts facts_in(const Json& json) {
  const Json none = Json::object();
  const auto part = [&](const char* key) -> const Json& {
    const Json* found = json.find(key);
    return found == nullptr ? none : *found;
  };
  return {.command = json.get<std::string>("command", ""),
          .version = json.get<std::string>("version", ""),
          .activity = json.get<std::string>("activity", ""),
          .model = json.get<std::string>("model", ""),
          .dataset = json.get<std::string>("dataset", ""),
          .task = json.get<std::string>("task", ""),
          .train_samples = json.get<int64_t>("train_samples", 0),
          .test_samples = json.get<int64_t>("test_samples", 0),
          .parameters = json.get<int64_t>("parameters", 0),
          .seed = json.get<int64_t>("seed", 0),
          .updates_per_epoch = json.get<int64_t>("updates_per_epoch", 0),
          .global_batch_size = json.get<int64_t>("global_batch_size", 0),
          .instances = json.get<int>("instances", 1),
          .compile_seconds = json.get<double>("compile_seconds", 0),
          .profile = json.get<std::string>("profile", ""),
          .trace = json.get<std::string>("trace", ""),
          .machine = machine_in(part("machine"))};
}

}  // namespace

MachineFacts this_machine() {
  utsname names = {};
  uname(&names);
  return {.host = names.nodename,
          .processor = runtime::query_cpu_model(),
          .isa = isa_name(),
          .cores = usable_cores(),
          .memory_bytes = memory_use().machine,
          .system = concat(names.sysname, " ", names.release)};
}

std::string shell_quoted(std::string_view argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(argument);
  }
  std::string quoted = "'";
  for (const char letter : argument) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

std::string command_of_this_process() {
  std::vector<std::string> words = split(read_system_file("/proc/self/cmdline"), '\0');
  if (!words.empty() && words.back().empty()) words.pop_back();  // each argument ends with a zero
  if (!words.empty()) words[0] = fs::path(words[0]).filename().string();
  for (std::string& word : words) word = shell_quoted(word);
  return join(words, " ");
}

void write_run_facts(const fs::path& run_directory, const RunFacts& facts) {
  const std::string text = to_json(facts).dump(1) + "\n";
  store::replace_file((run_directory / kRunFactsFile).string(), {std::as_bytes(std::span(text))});
}

std::optional<RunFacts> read_run_facts(const fs::path& run_directory) {
  const fs::path path = run_directory / kRunFactsFile;
  if (!path_exists(path)) return std::nullopt;
  try {
    return facts_in(Json::parse(read_system_file(path)));
  } catch (const IoError& error) {
    throw IoError(path.string(), ": not a record of a run: ", error.what());
  }
}

}  // namespace pando::app
