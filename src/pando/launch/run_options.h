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
  std::optional<int> num_replicas;  // in all instances together; not given: one in each
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
  std::string flag_before_program;   // a boolean one without a value, right before it
  std::string config;                // all options as YAML
  std::vector<std::string> idle;     // options that were given and have no effect here
};

// Defaults, then --import-config, then the command line. Nothing when --help was asked for and is
// answered. Throws UsageError.
std::optional<RunOptions> parse_run_options(std::span<const std::string> args, std::ostream& out);

// All flags as Markdown, for the reference.
std::string run_flags_markdown();

// Writes --export-config, if it was given. Throws UsageError when the file is there and
// --overwrite-config was not given, IoError when it cannot be written.
void export_config(const RunOptions& options);

}  // namespace pando::launch
