// The flags of `pando train` that say the learning rate of every weight update.
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
  std::optional<double> initial_learning_rate;    // times the global batch size; all but stepped
  std::optional<double> epochs_to_total_decay;    // cosine, polynomial
  std::optional<double> end_learning_rate_ratio;  // polynomial: of the initial rate
  std::optional<double> power;                    // polynomial
  std::optional<std::vector<double>> boundaries;  // stepped, in epochs
  std::optional<std::vector<double>> values;      // stepped: effective rates, one more
};

// The keys of --lr-warmup-params; both or none.
struct WarmupParams {
  std::optional<WarmupMode> warmup_mode;
  std::optional<double> warmup_epochs;
};

struct ScheduleFlags {
  // The effective rate, or the one that a decay begins with; excludes initial_learning_rate.
  std::optional<double> learning_rate;
  ScheduleKind kind = ScheduleKind::constant;
  ScheduleParams params;
  WarmupParams warmup;
  bool lr_staircase = false;

  // Whether they say what the rate is; if not, the optimizer does.
  bool has_rate() const { return learning_rate || params.initial_learning_rate || params.values; }
};

void add_schedule_flags(OptionTable& table, ScheduleFlags& flags);

// --learning-rate and a rate in --lr-schedule-params exclude each other, but what comes later (the
// command line after a file) replaces what came before. To be called before validate.
void let_later_rate_win(OptionTable& table, ScheduleFlags& flags);

// What no single flag can check: throws UsageError that names the flags.
void validate(const ScheduleFlags& flags);

// What a run adds to the flags.
struct ScheduleBase {
  int64_t global_batch_size = 1;
  int64_t updates_per_epoch = 1;
  double default_rate = 0;  // when the flags give none
};

// Warm-up around the schedule, stairs of one epoch around both. Throws UsageError for a decay that
// is shorter than one weight update. Requires: validated flags.
LearningRate make_schedule(const ScheduleFlags& flags, const ScheduleBase& base);

// "cosine from 0.1 to 0 over 65 epochs after a warm-up of 5 epochs (shift)", with effective rates.
std::string describe(const ScheduleFlags& flags, const ScheduleBase& base);

}  // namespace pando::app
