// SPDX-License-Identifier: MIT
#include "pando/launch/run_options.h"

#include <utility>

#include <arpa/inet.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/new_file.h"
#include "pando/base/paths.h"
#include "pando/launch/program_start.h"
#include "pando/launch/run_reference.h"
#include "pando/options/command_line.h"

namespace pando::launch {
namespace {

constexpr const char* kHelpHead = R"(usage: pando run [flags] [--] program [arguments]

Starts a program as several instances (processes) with MPI, on this machine or on several. The
program is the first word that is neither flag nor value; all words after it are its arguments.
Each instance gets its own cores and its share of the replicas; if the program is `pando train`,
all instances train one model together. Each line of output starts with its instance, such as
[1,0]<stdout>: for instance 0.

examples:
  pando run --num-instances 2 --num-replicas 4 pando train --model cifar_resnet8
  pando run -H 'node[0-3]' --num-instances 8 --max-restarts 3 pando train --model cifar_resnet20
  pando run --num-instances 4 --print-topology -- echo hello

The first signal (SIGINT, SIGTERM, SIGHUP, SIGUSR1) reaches all instances as SIGUSR1;
`pando train` then saves and stops. Signals within one second are one request; a later one ends
the job. Standard input goes to instance 0 unless it is a terminal.

exit codes: the code of the first instance that failed, 128 + the number of the signal that ended
the job, 75 if it saved and stopped, 2 for a wrong flag, 126 or 127 if the program cannot be
started.

)";

constexpr const char* kNoEffect =
    "ignored: Pando uses CPU cores, not devices of a resource manager";

// Options for a resource manager of other hardware. They are accepted and ignored.
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
           "ignored: compiling is too fast to need a cache")
      .with_hint("DIR");
  table.add("offline-mode", idle.offline_mode, kNoEffect);
  const char* prepared = "ignored: you have to prepare the hosts yourself";
  table.add("synchronise-python-venv", idle.python_venv, prepared).with_hint("DIR");
  table.add("synchronise-poplar-sdk", idle.sdk, prepared).with_hint("DIR");
  table.add("distribute-ssh-key", idle.ssh_key, prepared).with_hint("FILE");
}

void add_division_options(OptionTable& table, RunOptions& options) {
  table.begin_group("Division");
  table
      .add("num-instances", options.num_instances,
           "number of processes; divided evenly over the hosts")
      .with_hint("N")
      .at_least(1)
      .at_most(65536);
  table
      .add("num-replicas", options.num_replicas,
           "total number of replicas, divided evenly among the instances; not given: one per "
           "instance")
      .with_hint("N")
      .at_least(1)
      .at_most(1 << 20);
  table
      .add("devices-per-replica", options.devices_per_replica,
           "devices of each replica: one for each stage of its pipeline")
      .with_alias("ipus-per-replica")
      .with_hint("N")
      .at_least(1)
      .at_most(1024);
  table.add("numa-aware", options.numa_aware,
            "divide a host's cores among its instances NUMA node by NUMA node; off: in the order "
            "of their numbers. Instances share cores only if there are not enough");
  table.begin_group("Hosts");
  table
      .add("host", options.host,
           "hosts, such as a,b or node[0-2,4]; not given: the nodes of the Slurm allocation, or "
           "else this machine. Short form: -H")
      .with_hint("HOSTS");
  table
      .add("hostfile", options.hostfile,
           "read the hosts from a file, one per line; # starts a comment")
      .with_hint("FILE");
  table
      .add("host-subnet", options.host_subnet,
           "the network between the hosts, such as 10.1.0.0/16 (Open MPI)")
      .with_hint("NET");
}

void add_mpi_options(OptionTable& table, RunOptions& options) {
  table.begin_group("MPI");
  table
      .add("mpirun", options.mpirun,
           "the mpirun to use, of the MPI that Pando was built with: Open MPI or MPICH")
      .with_hint("PROGRAM");
  table
      .add("mpi-global-args", options.mpi_global_args,
           "more arguments for mpirun, quoted as for a shell, such as "
           "'--mca plm_rsh_agent /path/of/script'")
      .with_hint("ARGS")
      .may_be_empty();
  table
      .add("mpi-local-args", options.mpi_local_args,
           "more arguments for mpirun, placed right before the program, such as '-x NAME=value'")
      .with_hint("ARGS")
      .may_be_empty();
  table.add("allow-run-as-root", options.allow_run_as_root,
            "let mpirun run as root, which Open MPI refuses by default. Or set "
            "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  table.begin_group("Faults");
  table
      .add("max-restarts", options.max_restarts,
           "restart a failed job, at most N times; `pando train` continues from its last "
           "checkpoint. No restart after exit code 2, 3, 75, 126 or 127 or after a signal")
      .with_hint("N")
      .at_least(0)
      .at_most(1 << 20);
  table
      .add("heartbeat-period", options.heartbeat_period,
           "seconds between the signs of life that instances of `pando train` send each other")
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
            "print which instance has which replicas, devices and cores; without a program, do "
            "nothing else");
  table
      .add("only-output-from-instance", options.only_output_from_instance,
           "show the output of this instance only, and the last errors of an instance that fails")
      .with_hint("N")
      .at_least(0);
  table.add("dry-run", options.dry_run, "print the command that would run, and stop")
      .command_line_only();
  table.add("verbose", options.verbose,
            "show the command, where instances run, and all output of mpirun. Short form: -v");
  table.begin_group("Configuration");
  table
      .add("import-config", options.import_config,
           "read flags from a YAML file, by their names; the command line overrides it")
      .with_hint("FILE")
      .command_line_only();
  table
      .add("export-config", options.export_config,
           "write the values of all these flags to a YAML file")
      .with_hint("FILE")
      .command_line_only();
  table
      .add("overwrite-config", options.overwrite_config,
           "let --export-config replace an existing file")
      .command_line_only();
  add_help_option(table, common);
}

void import_config(OptionTable& table, const std::string& path) {
  try {
    const ConfigValue file = load_yaml(path);
    const bool is_map = file.kind == ConfigValue::Kind::map;
    if (!is_map && file.kind != ConfigValue::Kind::null) {
      throw UsageError(path, ": expected lines of the form 'name: value'");
    }
    table.assign_all(file, "");
  } catch (const UsageError& error) {
    throw UsageError("--import-config: ", error.what());
  }
}

// An empty value often comes from an unset variable of a script. It must not mean this machine.
void refuse_empty(const Option& option) {
  const bool given = option.origin.kind == Origin::Kind::command_line;
  if (!given || !option.show().text.empty()) return;
  throw UsageError("--", option.name, ": expected ",
                   option.name == "host" ? "hosts such as a,b" : "a file",
                   ", got nothing; remove the flag to use this machine");
}

// A network may also be the name of an interface, which only its host knows.
void validate_subnet(const std::string& networks) {
  for (const std::string& network : split(networks, ',')) {
    const size_t slash = network.find('/');
    if (slash == std::string::npos) continue;
    in_addr address{};
    const auto bits = parse_int(network.substr(slash + 1));
    const bool good = inet_pton(AF_INET, network.substr(0, slash).c_str(), &address) == 1;
    if (good && bits && *bits >= 0 && *bits <= 32) continue;
    throw UsageError("--host-subnet: expected a network such as 10.1.0.0/16, got '", network, "'");
  }
}

void validate(const RunOptions& options) {
  validate_subnet(options.host_subnet);
  if (!options.host.empty() && !options.hostfile.empty()) {
    throw UsageError("--hostfile: cannot be combined with --host; use one of them");
  }
  const auto& only = options.only_output_from_instance;
  if (only && *only >= options.num_instances) {
    throw UsageError("--only-output-from-instance: expected at most ", options.num_instances - 1,
                     " with ", options.num_instances, " instances, got ", *only);
  }
  const auto& period = options.heartbeat_period;
  const auto& timeout = options.heartbeat_timeout;
  if (period && timeout && *period >= *timeout) {
    throw UsageError("--heartbeat-timeout: expected more than the ", *period,
                     " s of --heartbeat-period, got ", *timeout, " s");
  }
  if (options.program.empty() && !options.print_topology) {
    throw UsageError(
        "no program given; expected pando run [flags] program [arguments], see --help");
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
    parse_command_line(table, common, start.options);  // overrides the file
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
  if (!options.overwrite_config && path_exists(options.export_config)) {
    throw UsageError("--export-config: '", options.export_config,
                     "' exists; use --overwrite-config to replace it");
  }
  NewFile file(options.export_config);
  file.write(std::as_bytes(std::span(options.config)));
  file.commit();
}

}  // namespace pando::launch
