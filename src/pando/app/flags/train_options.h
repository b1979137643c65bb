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
#include "pando/app/flags/tuning_flags.h"
#include "pando/app/flags/validation_flags.h"
#include "pando/options/command_line.h"
#include "pando/options/fraction.h"
#include "pando/options/options.h"

namespace pando::app {

struct TrainOptions : ModelFlags {
  DataFlags data;

  int64_t micro_batch_size = 64;
  int64_t num_epochs = 3;
  int64_t weight_updates_per_epoch = -1;  // -1: all whole global batches of the data set
  int64_t seed = 0;                       // fixed, so that the same command gives the same result

  OptimizerFlags optimizer;
  ScheduleFlags schedule;  // parse_train_options fills in the learning rate if none is given
  LossFlags loss;
  TuningFlags tuning;

  ValidationFlags phases;
  DeviceFlags devices;
  CounterpartFlags counterparts;
  IgnoredFlags ignored;
  int threads = 0;  // of one device; 0: the cores that this process may use
  int slices = 0;   // 0: the number of cores of a device; parse_train_options fills it in
  bool slices_are_chosen = false;  // by parse_train_options
  std::string precision_file;      // the checkpoint that gave the precision; empty: the flag did

  // Steps of a replica after which the host gets control back. 0: follows from --logs-per-epoch, or
  // a twentieth of an epoch if that is 1, so that the progress bar moves.
  int64_t steps_per_execution = 0;
  Fraction logs_per_epoch = Fraction(1);
  bool logs_are_given = false;  // by a flag or file; executions then last from event to event
  CheckpointFlags checkpoints;
  int prefetch_depth = 3;

  WinogradTiles winograd = WinogradTiles::up_to_4;
  Tuning tune = Tuning::off;
  std::vector<std::string> kernel_choices;  // to_texts() of KernelChoices
  std::vector<std::string> disable_pass;
  std::string dump_ir;  // a directory, or "-" for standard output; empty: no dump
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
  std::vector<std::string> warnings;  // about options that have no or only part of their effect

  bool records() const { return !trace.empty() || !profile.empty(); }
};

// Binds the options to the table; both must outlive it.
void add_train_options(OptionTable& table, TrainOptions& options);

// Checks combinations of flags; throws UsageError that names the flags.
void validate(const TrainOptions& options);

// Replaces values that say "the default" (0, or keys that a dictionary lacks) by the default, where
// results depend on them.
void fill_in(TrainOptions& options);

// Parses arguments into checked options. Returns nothing after --help or --print-config, whose
// output goes to `out`.
std::optional<TrainOptions> parse_train_options(std::span<const std::string> args,
                                                std::ostream& out);

// The last part of parse_train_options: checks options, fills in those that were not given and
// handles --print-config. Requires: `table` is bound to `options`.
std::optional<TrainOptions> settle_train_options(OptionTable& table, const CommonOptions& common,
                                                 TrainOptions& options, std::ostream& out);

}  // namespace pando::app
