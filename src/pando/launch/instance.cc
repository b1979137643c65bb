// SPDX-License-Identifier: MIT
#include "pando/launch/instance.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/environment.h"
#include "pando/base/threads.h"
#include "pando/comm/monitor.h"
#include "pando/launch/binding.h"
#include "pando/launch/failure.h"
#include "pando/launch/host_name.h"
#include "pando/launch/leftovers.h"
#include "pando/launch/process.h"
#include "pando/launch/program_start.h"
#include "pando/launch/supervision.h"
#include "pando/options/command_line.h"

namespace pando::launch {
namespace {

using std::chrono::milliseconds;

constexpr std::array<const char*, 4> kIndexNames = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                                    "SLURM_PROCID"};
constexpr std::array<const char*, 3> kCountNames = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                                    "SLURM_STEP_NUM_TASKS"};
constexpr std::array<const char*, 3> kLocalIndexNames = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                                         "MPI_LOCALRANKID", "SLURM_LOCALID"};
constexpr std::array<const char*, 2> kLocalCountNames = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                                         "MPI_LOCALNRANKS"};
constexpr std::chrono::seconds kDaemonPatience{10};

template <size_t count>
std::optional<int> first_number(const Lookup& environment,
                                const std::array<const char*, count>& names) {
  for (const char* name : names) {
    const auto text = environment(name);
    const auto number = text ? parse_int(*text) : std::nullopt;
    if (number && *number >= 0 && *number <= 1 << 24) return static_cast<int>(*number);
  }
  return std::nullopt;
}

struct InstanceOptions {
  int instances_per_host = 1;
  bool numa_aware = true;
  std::vector<std::string> program;
};

InstanceOptions parse_instance_options(std::span<const std::string> args) {
  InstanceOptions options;
  CommonOptions common;
  OptionTable table;
  table.add("instances-per-host", options.instances_per_host, "").at_least(1);
  table.add("numa-aware", options.numa_aware, "");
  ProgramStart start = find_program(table, args);
  parse_command_line(table, common, start.options);
  options.program = std::move(start.program);
  if (options.program.empty()) {
    throw UsageError("run-instance: no program given; use pando run, which starts run-instance");
  }
  return options;
}

// Binding only makes the program faster, so a refusal by the system is not an error.
void bind_this_process(const InstancePlace& place, bool numa_aware) {
  const auto bound = bind_instances(runtime::query_topology(), place.local_count, numa_aware);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int thread : bound[static_cast<size_t>(place.local_index)].threads) {
    if (thread < CPU_SETSIZE) CPU_SET(static_cast<size_t>(thread), &set);
  }
  sched_setaffinity(0, sizeof set, &set);
}

void report(const InstancePlace& place, pid_t pid, const std::string& text) {
  const std::string line = to_line({place.index, host_name(), pid, text}) + "\n";
  // Ignores failure: the launcher has ended then.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

std::atomic<bool> told_to_end{false};

extern "C" void note_end(int /*signal*/) { told_to_end = true; }
extern "C" void note_nothing(int /*signal*/) {}

constexpr std::array<int, 6> kGroupSignals = {SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM};

// mpirun signals the process group, so the program gets every signal itself; this process only has
// to survive it.
void survive_signals() {
  struct sigaction action = {};
  for (const int number : kGroupSignals) {
    action.sa_handler = number == SIGTERM ? note_end : note_nothing;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

[[noreturn]] void become(std::vector<std::string> program, pid_t parent, const sigset_t& mask) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(128 + SIGKILL);
  std::vector<char*> arguments;
  for (std::string& word : program) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(arguments.front(), arguments.data());
  const int error = errno;
  const std::string message =
      concat("pando: error: cannot start '", program.front(), "': ", strerror(error), "\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  _exit(error == ENOENT ? 127 : 126);
}

pid_t start_program(const std::vector<std::string>& program) {
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &former);  // so that no signal is lost between fork() and exec
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(program, parent, former);
  const int error = errno;
  survive_signals();
  sigprocmask(SIG_SETMASK, &former, nullptr);
  if (pid < 0) {
    throw ResourceError("run-instance: cannot start a process: ", strerror(error), "; ",
                        thread_limit_hint());
  }
  return pid;
}

// The time after which a stopped (SIGSTOP) program is killed: by then the other instances count it
// as lost. A program that runs alone may stay stopped for as long as its user likes.
std::optional<milliseconds> longest_stop() {
  const int count = first_number(find_variable, kCountNames).value_or(1);
  if (count == 1) return std::nullopt;
  return 2 * comm::monitor_options_from_environment().timeout;
}

}  // namespace

InstancePlace find_place(const Lookup& environment, int instances_per_host) {
  const auto index = first_number(environment, kIndexNames);
  if (!index) {
    throw InvalidArgument("run-instance: expected one of ",
                          join({kIndexNames.begin(), kIndexNames.end()}, ", "),
                          " in the environment; use pando run, which starts run-instance");
  }
  InstancePlace place;
  place.index = *index;
  place.local_count =
      std::max(first_number(environment, kLocalCountNames).value_or(instances_per_host), 1);
  place.local_index =
      first_number(environment, kLocalIndexNames).value_or(*index) % place.local_count;
  return place;
}

Variables instance_variables(const Lookup& environment, const InstancePlace& place) {
  const auto replicas = first_number(environment, std::array{"POPDIST_NUM_LOCAL_REPLICAS"});
  return {{"POPDIST_REPLICA_INDEX_OFFSET", std::to_string(place.index * replicas.value_or(1))},
          {"POPDIST_LOCAL_INSTANCE_INDEX", std::to_string(place.local_index)},
          // Open MPI gives instances a terminal, but their output becomes tagged lines.
          {"TERM", "dumb"}};
}

int run_instance(std::span<const std::string> args) {
  const InstanceOptions options = parse_instance_options(args);
  const InstancePlace place = find_place(find_variable, options.instances_per_host);
  for (const auto& [name, value] : instance_variables(find_variable, place)) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  bind_this_process(place, options.numa_aware);
  const std::optional<milliseconds> longest = longest_stop();
  const pid_t daemon = getppid();
  const pid_t pid = start_program(options.program);
  report(place, pid, kStarted);
  const int status = wait_for_program(pid, longest);
  // Called before the report, because writing to a dead daemon ends this process.
  if (getppid() != daemon) remove_leftovers(find_variable, "/dev/shm");
  // Does not report the end of a program that we ended on request, unless it saved a checkpoint and
  // stopped.
  const bool is_news = !told_to_end || code_of(status) == app::kStopped;
  if (status != 0 && is_news) report(place, pid, exit_text(status));
  if (status != 0) end_daemon_later(daemon, kDaemonPatience);
  return code_of(status);
}

}  // namespace pando::launch
