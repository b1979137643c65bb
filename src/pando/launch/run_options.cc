// SPDX-License-Identifier: MIT
#include "pando/launch/run_options.h"

#include <filesystem>
#include <utility>

#include "pando/app/job/exit_code.h"
#include "pando/base/new_file.h"
#include "pando/launch/program_start.h"
#include "pando/launch/run_reference.h"
#include "pando/options/command_line.h"

namespace pando::launch {
namespace {

constexpr const char* kHelpHead = R"(usage: pando run [flags] [--] program [arguments]

Starts a program as several instances (processes) on this machine or on many, with MPI. The first
word that is neither flag nor value starts the program; all that follows belongs to it. Each
instance gets cores of its own and its part of the replicas; `pando train` in it trains with all
of them together. Output has the instance in front: [1,0]<stdout>:

examples:
  pando run --num-instances 2 --num-replicas 4 pando train --model cifar_resnet8
  pando run -H 'node[0-3]' --num-instances 8 --max-restarts 3 pando train --model cifar_resnet20
  pando run --num-instances 4 --print-topology -- echo hello

The first signal (SIGINT, SIGTERM, SIGHUP, SIGUSR1) reaches all instances as SIGUSR1, upon which
`pando train` saves and stops; a second one ends them. Standard input goes to instance 0 unless it
is a terminal.

exit codes: that of the job, 128 and the number of the signal that ended it, 75 stopped and saved,
2 for a wrong flag, 126 and 127 for a program that cannot be started.

)";

constexpr const char* kNoEffect = "no effect: there are no such devices to ask for";

// Options that ask a resource manager of other hardware for devices.
struct IdleOptions {
  std::optional<int> num_ilds;
  std::string server_host;
  std::optional<int> server_port;
  std::optional<int> server_timeout;
  std::string partition;
  std::optional<int> partition_attempts;
  std::optional<bool> update_partition;
  std::optional<bool> reset_partition;
  std::optional<bool> remove_partition;
  std::string allocation;
  std::string cache_path;
  std::optional<bool> offline_mode;
  std::string python_venv;
  std::string sdk;
  std::string ssh_key;
};

constexpr const char* kIdleGroup = "Flags of other hardware";

void add_idle_options(OptionTable& table, IdleOptions& idle) {
  table.begin_group(kIdleGroup);
  table.add("num-ilds", idle.num_ilds, kNoEffect).with_hint("N");
  table.add("vipu-server-host", idle.server_host, kNoEffect).with_hint("HOST");
  table.add("vipu-server-port", idle.server_port, kNoEffect).with_hint("N");
  table.add("vipu-server-timeout", idle.server_timeout, kNoEffect).with_hint("SECONDS");
  table.add("vipu-partition", idle.partition, kNoEffect).with_hint("NAME");
  table.add("vipu-partition-attempts", idle.partition_attempts, kNoEffect).with_hint("N");
  table.add("update-partition", idle.update_partition, kNoEffect);
  table.add("reset-partition", idle.reset_partition, kNoEffect);
  table.add("remove-partition", idle.remove_partition, kNoEffect);
  table.add("vipu-allocation", idle.allocation, kNoEffect)
      .with_alias("vipu-cluster")
      .with_hint("NAME");
  table
      .add("executable-cache-path", idle.cache_path,
           "no effect: compiling takes no time worth a cache")
      .with_hint("DIR");
  table.add("offline-mode", idle.offline_mode, kNoEffect);
  const char* prepared = "no effect: hosts are prepared by their owner";
  table.add("synchronise-python-venv", idle.python_venv, prepared).with_hint("DIR");
  table.add("synchronise-poplar-sdk", idle.sdk, prepared).with_hint("DIR");
  table.add("distribute-ssh-key", idle.ssh_key, prepared).with_hint("FILE");
}

void add_division_options(OptionTable& table, RunOptions& options) {
  table.begin_group("Division");
  table.add("num-instances", options.num_instances, "processes; divided evenly over the hosts")
      .with_hint("N")
      .at_least(1)
      .at_most(65536);
  table
      .add("num-replicas", options.num_replicas,
           "replicas in all instances together, divided evenly among them; not given: one in each")
      .with_hint("N")
      .at_least(1)
      .at_most(1 << 20);
  table
      .add("devices-per-replica", options.devices_per_replica,
           "devices of each replica: the stages of its pipeline")
      .with_alias("ipus-per-replica")
      .with_hint("N")
      .at_least(1)
      .at_most(1024);
  table.add("numa-aware", options.numa_aware,
            "divide a host's cores among its instances NUMA node by NUMA node; off: in the order "
            "of their numbers. Instances have cores of their own while there are enough");
  table.begin_group("Hosts");
  table
      .add("host", options.host,
           "hosts, such as a,b or node[0-2,4]; not given: the nodes of a Slurm allocation, else "
           "this machine. -H")
      .with_hint("HOSTS");
  table
      .add("hostfile", options.hostfile,
           "the same from a file, a host per line; # begins a comment")
      .with_hint("FILE");
  table
      .add("host-subnet", options.host_subnet,
           "the network between the hosts, such as 10.1.0.0/16 (Open MPI)")
      .with_hint("NET");
}

void add_mpi_options(OptionTable& table, RunOptions& options) {
  table.begin_group("MPI");
  table.add("mpirun", options.mpirun, "the mpirun to use: of Open MPI or MPICH, as Pando is built")
      .with_hint("PROGRAM");
  table
      .add("mpi-global-args", options.mpi_global_args,
           "more arguments of mpirun, as a shell would read them: "
           "'--mca plm_rsh_agent /path/of/script'")
      .with_hint("ARGS");
  table
      .add("mpi-local-args", options.mpi_local_args,
           "more arguments of mpirun that belong to the program: '-x NAME=value'")
      .with_hint("ARGS");
  table.add("allow-run-as-root", options.allow_run_as_root,
            "let mpirun run as root, which Open MPI refuses otherwise; so does "
            "OMPI_ALLOW_RUN_AS_ROOT=1 with OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  table.begin_group("Faults");
  table
      .add("max-restarts", options.max_restarts,
           "start a failed job again, at most so often; `pando train` goes on from its last "
           "checkpoint. Not after exit code 2, 3, 75, 126 or 127 or a signal")
      .with_hint("N")
      .at_least(0)
      .at_most(1 << 20);
  table
      .add("heartbeat-period", options.heartbeat_period,
           "seconds between the signs of life that instances of `pando train` give each other")
      .with_hint("SECONDS")
      .above(0);
  table
      .add("heartbeat-timeout", options.heartbeat_timeout,
           "seconds of silence after which an instance counts as lost")
      .with_hint("SECONDS")
      .above(0);
}

void add_output_options(OptionTable& table, RunOptions& options, CommonOptions& common) {
  table.begin_group("Output");
  table.add("print-topology", options.print_topology,
            "print which instance has which replicas, devices and cores; without a program that "
            "is all");
  table
      .add("only-output-from-instance", options.only_output_from_instance,
           "show the output of this instance alone, and the last errors of one that fails")
      .with_hint("N")
      .at_least(0);
  table.add("dry-run", options.dry_run, "print the command that would run, and stop")
      .command_line_only();
  table.add("verbose", options.verbose,
            "show the command, where instances run, and all that mpirun says. -v");
  table.begin_group("Configuration");
  table
      .add("import-config", options.import_config,
           "a YAML file with the names of these flags; the command line wins")
      .with_hint("FILE")
      .command_line_only();
  table.add("export-config", options.export_config, "write all these flags to a YAML file")
      .with_hint("FILE")
      .command_line_only();
  table.add("overwrite-config", options.overwrite_config, "--export-config may replace a file")
      .command_line_only();
  add_help_option(table, common);
}

void import_config(OptionTable& table, const std::string& path) {
  try {
    const ConfigValue file = load_yaml(path);
    const bool is_map = file.kind == ConfigValue::Kind::map;
    if (!is_map && file.kind != ConfigValue::Kind::null) {
      throw UsageError(path, ": wanted lines of 'name: value'");
    }
    table.assign_all(file, "");
  } catch (const UsageError& error) {
    throw UsageError("--import-config: ", error.what());
  }
}

// A variable of a script that is not set must not mean this machine.
void refuse_empty(const Option& option) {
  const bool given = option.origin.kind == Origin::Kind::command_line;
  if (!given || !option.show().text.empty()) return;
  throw UsageError("--", option.name, ": found nothing, wanted ",
                   option.name == "host" ? "hosts such as a,b" : "a file",
                   "; leave the flag out for this machine");
}

void validate(const RunOptions& options) {
  if (!options.host.empty() && !options.hostfile.empty()) {
    throw UsageError("--hostfile: excludes --host; give one of them");
  }
  const auto& only = options.only_output_from_instance;
  if (only && *only >= options.num_instances) {
    throw UsageError("--only-output-from-instance: found ", *only, " with ", options.num_instances,
                     " instances, wanted at most ", options.num_instances - 1);
  }
  const auto& period = options.heartbeat_period;
  const auto& timeout = options.heartbeat_timeout;
  if (period && timeout && *period >= *timeout) {
    throw UsageError("--heartbeat-timeout: found ", *timeout, " s, wanted more than the ", *period,
                     " s of --heartbeat-period");
  }
  if (options.program.empty() && !options.print_topology) {
    throw UsageError("no program given; wanted pando run [flags] program [arguments], see --help");
  }
}

void add_options(OptionTable& table, RunOptions& options, IdleOptions& idle,
                 CommonOptions& common) {
  add_division_options(table, options);
  add_mpi_options(table, options);
  add_output_options(table, options, common);
  add_idle_options(table, idle);
}

}  // namespace

std::string run_flags_markdown() {
  RunOptions options;
  IdleOptions idle;
  CommonOptions common;
  OptionTable table;
  add_options(table, options, idle, common);
  return markdown_text(table);
}

std::optional<RunOptions> parse_run_options(std::span<const std::string> args, std::ostream& out) {
  RunOptions options;
  IdleOptions idle;
  CommonOptions common;
  OptionTable table;
  add_options(table, options, idle, common);
  bool markdown = false;
  table.add("help-markdown", markdown, "").command_line_only().hidden = true;
  ProgramStart start = find_program(table, args);
  parse_command_line(table, common, start.options);
  if (common.help || markdown) {
    out << (markdown ? run_reference() : kHelpHead + help_text(table));
    return std::nullopt;
  }
  if (!options.import_config.empty()) {
    import_config(table, options.import_config);
    parse_command_line(table, common, start.options);  // it wins over the file
  }
  options.program = std::move(start.program);
  options.flag_before_program = start.flag_before_program;
  options.config = config_text(table);
  for (const Option& option : table.options()) {
    if (option.group == kIdleGroup && is_changed(option)) {
      options.idle.push_back("--" + option.name);
    }
  }
  validate(options);
  for (const char* name : {"host", "hostfile"}) refuse_empty(*table.find_exact(name));
  return options;
}

void export_config(const RunOptions& options) {
  if (options.export_config.empty()) return;
  if (!options.overwrite_config && std::filesystem::exists(options.export_config)) {
    throw UsageError("--export-config: found a file '", options.export_config,
                     "'; --overwrite-config replaces it");
  }
  NewFile file(options.export_config);
  file.write(std::as_bytes(std::span(options.config)));
  file.commit();
}

}  // namespace pando::launch
