// SPDX-License-Identifier: MIT
#include "pando/app/flags/schedule_flags.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/error.h"
#include "pando/options/dictionary_keys.h"

namespace pando::app {
namespace {

const std::vector<std::pair<std::string, ScheduleKind>>& schedule_names() {
  static const std::vector<std::pair<std::string, ScheduleKind>> names = {
      {"const", ScheduleKind::constant},
      {"cosine", ScheduleKind::cosine},
      {"stepped", ScheduleKind::stepped},
      {"polynomial", ScheduleKind::polynomial}};
  return names;
}

WantedKeys keys_of(const ScheduleFlags& flags) {
  switch (flags.kind) {
    case ScheduleKind::constant: return {"const", {}, {"initial_learning_rate"}};
    case ScheduleKind::stepped: return {"stepped", {"boundaries", "values"}, {}};
    case ScheduleKind::cosine:
      return {"cosine", {"epochs_to_total_decay"}, {"initial_learning_rate"}};
    case ScheduleKind::polynomial: break;
  }
  return {"polynomial",
          {"initial_learning_rate", "epochs_to_total_decay", "end_learning_rate_ratio", "power"},
          {}};
}

void check_steps(const ScheduleParams& params) {
  const size_t boundaries = params.boundaries->size();
  if (params.values->size() != boundaries + 1) {
    throw UsageError("--lr-schedule-params: stepped: expected ", boundaries + 1, " values for ",
                     boundaries, " boundaries, got ", params.values->size());
  }
  if (!std::is_sorted(params.boundaries->begin(), params.boundaries->end())) {
    throw UsageError("--lr-schedule-params: stepped: expected boundaries in ascending order");
  }
}

void check_warmup(const WarmupParams& warmup) {
  if (warmup.warmup_mode.has_value() == warmup.warmup_epochs.has_value()) return;
  throw UsageError("--lr-warmup-params: expected both warmup_mode and warmup_epochs, got only ",
                   warmup.warmup_mode ? "warmup_mode" : "warmup_epochs");
}

// The number of whole weight updates in this many epochs.
int64_t whole_updates(double epochs, const ScheduleBase& base) {
  constexpr double kMost = 0x1p62;
  return static_cast<int64_t>(
      std::min(epochs * static_cast<double>(base.updates_per_epoch), kMost));
}

double start_rate(const ScheduleFlags& flags, const ScheduleBase& base) {
  if (flags.learning_rate) return *flags.learning_rate;
  if (!flags.params.initial_learning_rate) return base.default_rate;
  return *flags.params.initial_learning_rate * static_cast<double>(base.global_batch_size);
}

LearningRate make_cosine(const ScheduleFlags& flags, const ScheduleBase& base) {
  const double epochs = *flags.params.epochs_to_total_decay;
  const int64_t updates = whole_updates(epochs, base);
  if (updates < 1) {
    throw UsageError("--lr-schedule-params: epochs_to_total_decay: expected at least one of the ",
                     base.updates_per_epoch, " weight updates of an epoch, got ", epochs,
                     " epochs");
  }
  return CosineDecay({.initial_learning_rate = start_rate(flags, base), .decay_updates = updates});
}

LearningRate make_steps(const ScheduleParams& params, const ScheduleBase& base) {
  PiecewiseConstantDecayOptions steps{.boundaries = {}, .values = *params.values};
  for (const double epoch : *params.boundaries) {
    steps.boundaries.push_back(whole_updates(epoch, base));
  }
  return PiecewiseConstantDecay(std::move(steps));
}

LearningRate make_decay(const ScheduleFlags& flags, const ScheduleBase& base) {
  const double start = start_rate(flags, base);
  switch (flags.kind) {
    case ScheduleKind::constant: return start;
    case ScheduleKind::cosine: return make_cosine(flags, base);
    case ScheduleKind::stepped: return make_steps(flags.params, base);
    case ScheduleKind::polynomial: break;
  }
  return PolynomialDecay({.initial_learning_rate = start,
                          .decay_updates = *flags.params.epochs_to_total_decay *
                                           static_cast<double>(base.updates_per_epoch),
                          .end_learning_rate = start * *flags.params.end_learning_rate_ratio,
                          .power = *flags.params.power});
}

std::string describe_decay(const ScheduleFlags& flags, const ScheduleBase& base) {
  const ScheduleParams& params = flags.params;
  const double start = start_rate(flags, base);
  switch (flags.kind) {
    case ScheduleKind::constant: return fmt::format("{:g}", start);
    case ScheduleKind::cosine:
      return fmt::format("cosine from {:g} to 0 over {:g} epochs", start,
                         *params.epochs_to_total_decay);
    case ScheduleKind::stepped:
      return fmt::format("stepped {:g} after epochs {:g}", fmt::join(*params.values, ", "),
                         fmt::join(*params.boundaries, ", "));
    case ScheduleKind::polynomial: break;
  }
  return fmt::format("polynomial of power {:g} from {:g} to {:g} over {:g} epochs", *params.power,
                     start, start * *params.end_learning_rate_ratio, *params.epochs_to_total_decay);
}

}  // namespace

void add_schedule_flags(OptionTable& table, ScheduleFlags& flags) {
  table.begin_group("Learning rate");
  table
      .add("learning-rate", flags.learning_rate,
           "the learning rate, or its start if a schedule decays it; default for sgd and lars: "
           "1.5625e-4 x global batch size (0.01 at 64), for the other optimizers 0.001 as in Keras")
      .with_hint("X")
      .above(0);
  table.add_choice("lr-schedule", flags.kind, schedule_names(),
                   "how the learning rate changes during training; const: it stays the same");
  OptionTable& params = table.add_dictionary(
      "lr-schedule-params",
      "parameters of --lr-schedule, as YAML or JSON. initial_learning_rate is multiplied by the "
      "global batch size; --learning-rate, which is not, can replace it. const takes "
      "initial_learning_rate; cosine also epochs_to_total_decay, by default --num-epochs; "
      "polynomial also "
      "end_learning_rate_ratio and power; stepped takes boundaries in epochs and the learning "
      "rates before, between and after them as values: '{boundaries: [30, 60], values: [0.1, 0.01, "
      "0.001]}'");
  params.add("initial_learning_rate", flags.params.initial_learning_rate, "").above(0);
  params.add("epochs_to_total_decay", flags.params.epochs_to_total_decay, "").above(0);
  params.add("end_learning_rate_ratio", flags.params.end_learning_rate_ratio, "").at_least(0);
  params.add("power", flags.params.power, "").at_least(0);
  params.add("boundaries", flags.params.boundaries, "").at_least(0);
  params.add("values", flags.params.values, "").at_least(0);
  OptionTable& warmup = table.add_dictionary(
      "lr-warmup-params",
      "warm-up, as YAML or JSON: during the first warmup_epochs the learning rate rises from "
      "almost 0; with warmup_mode shift the schedule starts after the warm-up, with mask at the "
      "same time");
  warmup.add_choice<std::optional<WarmupMode>>(
      "warmup_mode", flags.warmup.warmup_mode,
      {{"shift", WarmupMode::shift}, {"mask", WarmupMode::mask}}, "");
  warmup.add("warmup_epochs", flags.warmup.warmup_epochs, "").at_least(0);
  table.add("lr-staircase", flags.lr_staircase,
            "change the learning rate only at the start of an epoch");
}

void let_later_rate_win(OptionTable& table, ScheduleFlags& flags) {
  Option& rate = table.find("learning-rate", "");
  const Option& params = table.find("lr-schedule-params", "");
  if (!flags.learning_rate) return;
  const bool has_own = flags.params.initial_learning_rate || flags.params.values;
  if (rate.origin.kind < params.origin.kind && has_own) {
    flags.learning_rate.reset();
    rate.origin = {.place = "replaced by lr-schedule-params"};
  } else if (params.origin.kind < rate.origin.kind) {
    flags.params.initial_learning_rate.reset();
  }
}

void validate(const ScheduleFlags& flags) {
  if (flags.learning_rate && flags.params.initial_learning_rate) {
    throw UsageError("--learning-rate ", *flags.learning_rate, " and initial_learning_rate ",
                     *flags.params.initial_learning_rate,
                     " in --lr-schedule-params both give the rate; remove one of them "
                     "(initial_learning_rate is multiplied by the global batch size)");
  }
  if (flags.learning_rate && flags.kind == ScheduleKind::stepped) {
    throw UsageError("--learning-rate: --lr-schedule stepped takes its rates from the values in ",
                     "--lr-schedule-params; remove --learning-rate");
  }
  ScheduleFlags copy = flags;
  OptionTable table;
  add_schedule_flags(table, copy);
  WantedKeys wanted = keys_of(flags);
  if (flags.learning_rate) std::erase(wanted.required, "initial_learning_rate");
  check_keys(table, "lr-schedule-params", wanted);
  if (flags.kind == ScheduleKind::stepped) check_steps(flags.params);
  check_warmup(flags.warmup);
}

void resolve_rate(ScheduleFlags& flags, const ScheduleBase& base) {
  if (flags.kind == ScheduleKind::stepped) return;
  flags.learning_rate = start_rate(flags, base);
  flags.params.initial_learning_rate.reset();
}

LearningRate make_schedule(const ScheduleFlags& flags, const ScheduleBase& base) {
  PANDO_CHECK(base.global_batch_size >= 1 && base.updates_per_epoch >= 1);
  LearningRate rate = make_decay(flags, base);
  if (flags.warmup.warmup_epochs) {
    rate =
        with_warmup(std::move(rate), {.mode = *flags.warmup.warmup_mode,
                                      .updates = whole_updates(*flags.warmup.warmup_epochs, base)});
  }
  return flags.lr_staircase ? in_stairs(std::move(rate), base.updates_per_epoch) : rate;
}

std::string describe(const ScheduleFlags& flags, const ScheduleBase& base) {
  std::string text = describe_decay(flags, base);
  if (flags.warmup.warmup_epochs) {
    const bool shifts = flags.warmup.warmup_mode == WarmupMode::shift;
    text += fmt::format(" {} a warm-up of {:g} epochs ({})", shifts ? "after" : "with",
                        *flags.warmup.warmup_epochs, shifts ? "shift" : "mask");
  }
  return flags.lr_staircase ? text + " in stairs of an epoch" : text;
}

}  // namespace pando::app
