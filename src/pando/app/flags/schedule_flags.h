// The flags of `pando train` that determine the learning rate of every weight update.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pando/optim/schedule.h"
#include "pando/options/options.h"

namespace pando::app {

enum class ScheduleKind { constant, cosine, stepped, polynomial };

// The keys of --lr-schedule-params.
struct ScheduleParams {
  // Is multiplied by the global batch size; for all schedules except stepped.
  std::optional<double> initial_learning_rate;
  std::optional<double> epochs_to_total_decay;    // cosine, polynomial
  std::optional<double> end_learning_rate_ratio;  // polynomial: end rate / initial rate
  std::optional<double> power;                    // polynomial
  std::optional<std::vector<double>> boundaries;  // stepped, in epochs
  std::optional<std::vector<double>> values;  // stepped: effective rates, one more than boundaries
};

// The keys of --lr-warmup-params; both or none.
struct WarmupParams {
  std::optional<WarmupMode> warmup_mode;
  std::optional<double> warmup_epochs;
};

struct ScheduleFlags {
  // The effective rate, or the start of a decay; cannot be combined with initial_learning_rate.
  std::optional<double> learning_rate;
  ScheduleKind kind = ScheduleKind::constant;
  ScheduleParams params;
  WarmupParams warmup;
  bool lr_staircase = false;

  // Whether the flags give a rate; if not, the optimizer has a default.
  bool has_rate() const { return learning_rate || params.initial_learning_rate || params.values; }
};

void add_schedule_flags(OptionTable& table, ScheduleFlags& flags);

// --learning-rate and a rate in --lr-schedule-params cannot be combined, but a later source (the
// command line) replaces an earlier one (a file). Call this before validate.
void let_later_rate_win(OptionTable& table, ScheduleFlags& flags);

// Checks combinations of flags; throws UsageError that names the flags.
void validate(const ScheduleFlags& flags);

// Numbers of a run that the schedule depends on.
struct ScheduleBase {
  int64_t global_batch_size = 1;
  int64_t updates_per_epoch = 1;
  double default_rate = 0;  // if the flags give none
};

// Replaces an initial_learning_rate per sample, and a rate that is not given, by --learning-rate.
void resolve_rate(ScheduleFlags& flags, const ScheduleBase& base);

// Combines the schedule with the warm-up and then both with stairs of one epoch. Throws UsageError
// for a decay that is shorter than one weight update. Requires: validated flags.
LearningRate make_schedule(const ScheduleFlags& flags, const ScheduleBase& base);

// "cosine from 0.1 to 0 over 65 epochs after a warm-up of 5 epochs (shift)", with effective rates.
std::string describe(const ScheduleFlags& flags, const ScheduleBase& base);

}  // namespace pando::app
