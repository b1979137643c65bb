// The options of `pando run`.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace pando::launch {

struct RunOptions {
  int num_instances = 1;
  std::optional<int> num_replicas;  // total over all instances; not given: one per instance
  int devices_per_replica = 1;
  bool numa_aware = true;
  std::string host;
  std::string hostfile;
  std::string host_subnet;
  std::string mpirun = "mpirun";
  std::string mpi_global_args;
  std::string mpi_local_args;
  bool allow_run_as_root = false;
  bool print_topology = false;
  std::optional<int> only_output_from_instance;
  bool dry_run = false;
  bool verbose = false;
  int max_restarts = 0;
  std::optional<double> heartbeat_period;  // seconds
  std::optional<double> heartbeat_timeout;
  std::string import_config;
  std::string export_config;
  bool overwrite_config = false;

  std::vector<std::string> program;  // with its arguments; may be empty with print_topology
  std::string flag_before_program;   // a boolean flag without a value, right before the program
  std::string config;                // all options as YAML
  std::vector<std::string> idle;     // options that were given but are ignored
};

// Applies defaults, then --import-config, then the command line. Returns nothing after it printed
// the help or the reference. Throws UsageError.
std::optional<RunOptions> parse_run_options(std::span<const std::string> args, std::ostream& out);

// All flags as Markdown, for the reference.
std::string run_flags_markdown();

// Writes the file of --export-config, if given. Throws UsageError if the file exists and
// --overwrite-config was not given, IoError if it cannot be written.
void export_config(const RunOptions& options);

}  // namespace pando::launch
