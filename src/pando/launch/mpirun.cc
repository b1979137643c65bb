// SPDX-License-Identifier: MIT
#include "pando/launch/mpirun.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/core.h>
#include <unistd.h>

#include "pando/base/environment.h"
#include "pando/base/error.h"
#include "pando/base/paths.h"
#include "pando/base/threads.h"
#include "pando/launch/words.h"

namespace pando::launch {
namespace {

constexpr const char* kRemedy = "install Open MPI (Debian: openmpi-bin) or MPICH";

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) {
    throw ResourceError("pando run: cannot start '", command, "': ", strerror(errno), "; ",
                        thread_limit_hint());
  }
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const size_t got = fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (got == 0) break;
    text.append(buffer.data(), got);
  }
  return text;
}

bool is_program(const std::string& path) {
  return access(path.c_str(), X_OK) == 0 && !is_folder(path);
}

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// The hosts with the number of instances of each, such as "a:2,b:2".
std::string hosts_with_slots(const JobDivision& job) {
  std::vector<std::string> hosts;
  for (const std::string& host : job.hosts) {
    hosts.push_back(fmt::format("{}:{}", host, job.instances_per_host()));
  }
  return join(hosts, ",");
}

Words open_mpi_arguments(const RunOptions& options, const JobDivision& job,
                         const LaunchContext& context) {
  // run-instance binds the cores, so mpirun must neither bind nor count them.
  Words words = {"--tag-output", "--bind-to", "none", "--map-by", "slot", "--oversubscribe"};
  if (context.is_root) words.emplace_back("--allow-run-as-root");
  if (!job.hosts.empty()) append(words, {"--host", hosts_with_slots(job)});
  for (const char* layer : {"oob_tcp_if_include", "btl_tcp_if_include"}) {
    if (!options.host_subnet.empty()) append(words, {"--mca", layer, options.host_subnet});
  }
  append(words, split_words(options.mpi_global_args, "--mpi-global-args"));
  append(words, {"-np", std::to_string(job.instances)});
  for (const auto& [name, value] : context.variables) append(words, {"-x", name + "=" + value});
  for (const std::string& name : context.passed_names) append(words, {"-x", name});
  return words;
}

Words hydra_arguments(const RunOptions& options, const JobDivision& job,
                      const LaunchContext& context) {
  Words words = {"-prepend-pattern", kHydraPattern};
  if (!job.hosts.empty()) append(words, {"-hosts", hosts_with_slots(job)});
  append(words, split_words(options.mpi_global_args, "--mpi-global-args"));
  for (const auto& [name, value] : context.variables) append(words, {"-genv", name, value});
  append(words, {"-n", std::to_string(job.instances)});
  return words;
}

bool is_set(const char* name) { return environment(name) == "1"; }

}  // namespace

std::string find_on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = concat(folder.empty() ? "." : folder, "/", name);
    if (is_program(candidate)) return candidate;
  }
  return "";
}

MpiKind kind_of_mpirun(std::string_view version_text, const std::string& path) {
  const auto says = [&](std::string_view part) {
    return version_text.find(part) != std::string_view::npos;
  };
  if (says("Open MPI") || says("OpenRTE")) return MpiKind::open_mpi;
  if (says("HYDRA") || says("Intel(R) MPI")) return MpiKind::hydra;
  throw ResourceError(path, " --version: expected Open MPI or MPICH, got '",
                      version_text.substr(0, version_text.find('\n')),
                      "'; use --mpirun to name the mpirun of one of them, or ", kRemedy);
}

MpiRun find_mpirun(const std::string& name) {
  const std::string path = find_on_path(name);
  if (path.empty()) {
    throw ResourceError("pando run: cannot find '", name, "'",
                        name.find('/') == std::string::npos ? " on PATH" : "", "; ", kRemedy,
                        ", or use --mpirun to name another");
  }
  return {path, kind_of_mpirun(output_of(quote_words({path, "--version"}) + " 2>&1"), path)};
}

Variables job_variables(const RunOptions& options, const JobDivision& job, const std::string& name,
                        int restarts) {
  Variables variables = {
      {"POPDIST_NUM_TOTAL_REPLICAS", std::to_string(job.replicas)},
      {"POPDIST_NUM_LOCAL_REPLICAS", std::to_string(job.replicas_per_instance())},
      {"POPDIST_NUM_IPUS_PER_REPLICA", std::to_string(job.devices_per_replica)},
      {"POPDIST_UNIFORM_REPLICAS_PER_INSTANCE", "1"},
      {"PANDO_JOB", name},
      {"PANDO_RESTART", std::to_string(restarts)},
      // 1: the number of replicas is only a default, which the program's own flag overrides.
      {"PANDO_DEFAULT_REPLICAS", options.num_replicas ? "0" : "1"}};
  if (options.heartbeat_period) {
    variables.emplace_back("PANDO_HEARTBEAT_PERIOD", fmt::format("{}", *options.heartbeat_period));
  }
  if (options.heartbeat_timeout) {
    variables.emplace_back("PANDO_HEARTBEAT_TIMEOUT",
                           fmt::format("{}", *options.heartbeat_timeout));
  }
  return variables;
}

std::vector<std::string> passed_names(char** environment, const Variables& set) {
  std::vector<std::string> names;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    const bool is_ours = name.starts_with("POPDIST_") || name.starts_with("PANDO_");
    if (!is_ours && name != "PATH" && name != "LD_LIBRARY_PATH") continue;
    const auto same = [&](const auto& variable) { return variable.first == name; };
    if (std::none_of(set.begin(), set.end(), same)) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> mpi_command(const RunOptions& options, const JobDivision& job,
                                     const LaunchContext& context) {
  Words words = {context.mpirun.path};
  append(words, context.mpirun.kind == MpiKind::open_mpi ? open_mpi_arguments(options, job, context)
                                                         : hydra_arguments(options, job, context));
  append(words, split_words(options.mpi_local_args, "--mpi-local-args"));
  append(words, {context.pando, "run-instance",
                 "--instances-per-host=" + std::to_string(job.instances_per_host()),
                 concat("--numa-aware=", options.numa_aware ? 1 : 0), "--"});
  append(words, options.program);
  return words;
}

bool may_run_as_root(const RunOptions& options) {
  if (options.allow_run_as_root) return true;
  if (is_set("OMPI_ALLOW_RUN_AS_ROOT") && is_set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")) return true;
  const Words words = split_words(options.mpi_global_args, "--mpi-global-args");
  return std::find(words.begin(), words.end(), "--allow-run-as-root") != words.end();
}

}  // namespace pando::launch
