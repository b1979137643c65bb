// run.json of a run directory: what does not change while a run goes on and no option says:
// command, machine, sizes. config.yml has the options, summary.json how far the run is.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace pando::app {

constexpr const char* kRunFactsFile = "run.json";

struct MachineFacts {
  std::string host;
  std::string processor;
  std::string isa;  // instruction set of the kernels
  int cores = 0;    // that the process may use
  int64_t memory_bytes = 0;
  std::string system;  // "Linux 6.1"
};
MachineFacts this_machine();

struct RunFacts {
  std::string command;   // as a shell takes it
  std::string version;   // of the program
  std::string activity;  // "training" or "validation"
  std::string model;
  std::string dataset;
  std::string task;
  int64_t train_samples = 0;
  int64_t test_samples = 0;
  int64_t parameters = 0;
  int64_t seed = 0;
  int64_t updates_per_epoch = 0;
  int64_t global_batch_size = 0;
  int instances = 1;
  double compile_seconds = 0;
  std::string profile;  // the folder of --profile, absolute; empty: none
  std::string trace;    // the file of --trace, absolute; empty: none
  MachineFacts machine;
};

// Quotes an argument for a shell where that is necessary.
std::string shell_quoted(std::string_view argument);
// The command that started this process, without the folder of the program.
std::string command_of_this_process();

// Replaces the file. Throws IoError.
void write_run_facts(const std::filesystem::path& run_directory, const RunFacts& facts);
// Nothing if there is no such file. Throws IoError for one that is no record of a run.
std::optional<RunFacts> read_run_facts(const std::filesystem::path& run_directory);

}  // namespace pando::app
