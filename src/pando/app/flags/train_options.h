// The options of `pando train`.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "pando/app/flags/checkpoint_flags.h"
#include "pando/app/flags/counterpart_flags.h"
#include "pando/app/flags/data_flags.h"
#include "pando/app/flags/device_flags.h"
#include "pando/app/flags/early_stopping_flags.h"
#include "pando/app/flags/ignored_flags.h"
#include "pando/app/flags/logging_flags.h"
#include "pando/app/flags/loss_flags.h"
#include "pando/app/flags/model_flags.h"
#include "pando/app/flags/optimizer_flags.h"
#include "pando/app/flags/schedule_flags.h"
#include "pando/app/flags/validation_flags.h"
#include "pando/options/command_line.h"
#include "pando/options/fraction.h"
#include "pando/options/options.h"

namespace pando::app {

struct TrainOptions : ModelFlags {
  DataFlags data;

  int64_t micro_batch_size = 64;
  int64_t num_epochs = 3;
  int64_t weight_updates_per_epoch = -1;  // -1: the whole global batches of the data
  int64_t seed = 0;                       // fixed: the same command gives the same result

  OptimizerFlags optimizer;
  ScheduleFlags schedule;  // parse_train_options fills in the learning rate where none is given
  LossFlags loss;

  ValidationFlags phases;
  DeviceFlags devices;
  CounterpartFlags counterparts;
  IgnoredFlags ignored;
  int threads = 0;  // of one device; 0: the cores that this process may use
  int slices = 0;   // 0: as many as cores of a device; parse_train_options fills it in
  bool slices_are_chosen = false;  // by it
  std::string precision_file;      // the checkpoint that tells the precision; empty: the flag

  // When the host gets control back. Steps are those of a replica; 0: as --logs-per-epoch wants,
  // and a twentieth of an epoch when that is 1, so that the progress bar moves.
  int64_t steps_per_execution = 0;
  Fraction logs_per_epoch = Fraction(1);
  bool logs_are_given = false;  // by a flag or a file: executions are then as long as events allow
  CheckpointFlags checkpoints;
  int prefetch_depth = 3;

  std::vector<std::string> disable_pass;
  std::string dump_ir;  // a directory, or "-" for standard output; empty: no
  bool verify = false;
  bool compile_report = false;

  EarlyStoppingFlags early_stopping;
  LoggingFlags logging;
  std::string run_dir;  // empty: runs/<model>-<date>-<time>
  std::string trace;    // a file for the Chrome trace; empty: none
  std::string profile;  // a folder for reports on the run; empty: none
  bool quiet = false;
  bool verbose = false;
  bool dry_run = false;

  std::string config_text;            // every effective option as YAML, for the run directory
  std::vector<std::string> warnings;  // about options that do not do all that they say

  bool records() const { return !trace.empty() || !profile.empty(); }
};

// Binds the options to the table; both must outlive it.
void add_train_options(OptionTable& table, TrainOptions& options);

// What no single flag can check: throws UsageError that names the flags.
void validate(const TrainOptions& options);

// The whole way from arguments to checked options. Gives nothing when --help or --print-config was
// asked for and is answered on `out`.
std::optional<TrainOptions> parse_train_options(std::span<const std::string> args,
                                                std::ostream& out);

// The last part of it: checks, chooses what is open and answers --print-config. Requires: `table`
// is bound to `options`.
std::optional<TrainOptions> settle_train_options(OptionTable& table, const CommonOptions& common,
                                                 TrainOptions& options, std::ostream& out);

}  // namespace pando::app
