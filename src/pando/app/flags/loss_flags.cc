// SPDX-License-Identifier: MIT
#include "pando/app/flags/loss_flags.h"

#include <algorithm>

#include <fmt/core.h>

#include "pando/app/job/exit_code.h"
#include "pando/base/cpu.h"
#include "pando/base/error.h"
#include "pando/base/strings.h"

namespace pando::app {
namespace {

constexpr double kMostScaling = 1e20;  // multiplied by the replicas it still fits into f32

void add_params(OptionTable& params, AutoLossScalingParams& fields) {
  params.add("initial_loss_scaling_factor", fields.initial_loss_scaling_factor, "").at_least(1);
  params.add("update_frequency", fields.update_frequency, "").at_least(1);
  params.add("increase_factor", fields.increase_factor, "").at_least(2);
  params.add("max_loss_scaling_factor", fields.max_loss_scaling_factor, "").at_least(2);
  params.add("accumulate_statistics_over_update_period",
             fields.accumulate_statistics_over_update_period, "");
  params.add("ratio_threshold", fields.ratio_threshold, "").above(0).below(1);
  params.add("lpf_alpha", fields.lpf_alpha, "").at_least(0).below(1);
  params.add("histogram_bin_edge", fields.histogram_bin_edge, "").above(0).below(65504);
  params.add("captured_grads_only", fields.captured_grads_only, "");
}

}  // namespace

AutoLossScaling AutoLossScalingParams::options() const {
  const AutoLossScaling standard;
  return {
      .initial_loss_scaling_factor =
          initial_loss_scaling_factor.value_or(standard.initial_loss_scaling_factor),
      .update_frequency = update_frequency.value_or(standard.update_frequency),
      .increase_factor = increase_factor.value_or(standard.increase_factor),
      .max_loss_scaling_factor = max_loss_scaling_factor.value_or(standard.max_loss_scaling_factor),
      .accumulate_statistics_over_update_period = accumulate_statistics_over_update_period.value_or(
          standard.accumulate_statistics_over_update_period),
      .ratio_threshold = ratio_threshold.value_or(standard.ratio_threshold),
      .lpf_alpha = lpf_alpha.value_or(standard.lpf_alpha),
      .histogram_bin_edge = histogram_bin_edge.value_or(standard.histogram_bin_edge),
      .captured_grads_only = captured_grads_only.value_or(standard.captured_grads_only)};
}

bool AutoLossScalingParams::given() const {
  return initial_loss_scaling_factor || update_frequency || increase_factor ||
         max_loss_scaling_factor || accumulate_statistics_over_update_period || ratio_threshold ||
         lpf_alpha || histogram_bin_edge || captured_grads_only;
}

LossScaling LossFlags::scaling(int64_t replicas) const {
  return {.factor = loss_scaling * static_cast<double>(replicas),
          .automatic = auto_loss_scaling,
          .options = auto_loss_scaling_params.options()};
}

std::string LossFlags::describe_scaling(int64_t replicas) const {
  if (auto_loss_scaling) return "loss scaling " + to_string(scaling(replicas));
  if (loss_scaling == 0) return "";
  return fmt::format("loss scaling {} x {} = {}", loss_scaling, counted(replicas, "replica"),
                     scaling(replicas).factor);
}

void fill_in(LossFlags& flags) {
  if (!flags.auto_loss_scaling) return;
  const AutoLossScaling all = flags.auto_loss_scaling_params.options();
  flags.auto_loss_scaling_params = {
      .initial_loss_scaling_factor = all.initial_loss_scaling_factor,
      .update_frequency = all.update_frequency,
      .increase_factor = all.increase_factor,
      .max_loss_scaling_factor = all.max_loss_scaling_factor,
      .accumulate_statistics_over_update_period = all.accumulate_statistics_over_update_period,
      .ratio_threshold = all.ratio_threshold,
      .lpf_alpha = all.lpf_alpha,
      .histogram_bin_edge = all.histogram_bin_edge,
      .captured_grads_only = all.captured_grads_only};
}

void add_loss_flags(OptionTable& table, LossFlags& flags) {
  table.begin_group("Loss");
  table
      .add("label-smoothing", flags.label_smoothing,
           "this fraction of each label is spread evenly over all classes")
      .with_hint("X")
      .at_least(0)
      .at_most(1);
  table
      .add(
          "loss-scaling", flags.loss_scaling,
          "multiply the loss by this value x number of replicas while gradients are computed, so "
          "that small gradients do not vanish in half precision; gradients are divided by the same "
          "factor before the weight update. 0: off")
      .with_hint("X")
      .at_least(0)
      .at_most(kMostScaling);
  table.add(
      "auto-loss-scaling", flags.auto_loss_scaling,
      "adapt the loss scaling during training to the share of large gradients; --loss-scaling "
      "is then ignored. The history shows the factor as loss_scaling_factor");
  add_params(
      table.add_dictionary(
          "auto-loss-scaling-params",
          "parameters of --auto-loss-scaling, as YAML or JSON, with defaults in parentheses. "
          "The factor starts at initial_loss_scaling_factor (1). Every update_frequency (8) "
          "weight updates it is divided by increase_factor (2) if more than ratio_threshold "
          "(1e-5) of all gradients exceed histogram_bin_edge (8192), otherwise multiplied by "
          "it; it stays at least 1 and below max_loss_scaling_factor (32768). lpf_alpha (0): "
          "the weight of earlier counts in a moving average; "
          "accumulate_statistics_over_update_period (true): count the gradients of all "
          "updates of a period, not only of the last"),
      flags.auto_loss_scaling_params);
}

void validate(const LossFlags& flags) {
  try {
    validate(LossScaling{.factor = flags.loss_scaling});
  } catch (const InvalidArgument& error) {
    throw UsageError("--loss-scaling: ", error.what());
  }
  try {
    validate(LossScaling{.automatic = true, .options = flags.auto_loss_scaling_params.options()});
  } catch (const InvalidArgument& error) {
    throw UsageError("--auto-loss-scaling-params: ", error.what());
  }
}

std::vector<std::string> warnings_of(const LossFlags& flags, const Precision& precision) {
  std::vector<std::string> warnings;
  const bool scaled = flags.loss_scaling != 0;
  const std::string fixed = fmt::format("--loss-scaling {}", flags.loss_scaling);
  if (scaled && flags.auto_loss_scaling) {
    warnings.push_back(concat(fixed, " is ignored: --auto-loss-scaling chooses the factor"));
  }
  if (!flags.auto_loss_scaling && flags.auto_loss_scaling_params.given()) {
    warnings.emplace_back("--auto-loss-scaling-params has no effect without --auto-loss-scaling");
  }
  // A gradient is at most the factor, so these are cut off or vanish altogether.
  constexpr double kLargestF16 = 65504;
  constexpr double kSmallestF16 = 0x1p-14;  // of full precision
  const bool out_of_range = flags.loss_scaling > kLargestF16 || flags.loss_scaling < kSmallestF16;
  if (precision.compute == DType::f16 && scaled && !flags.auto_loss_scaling && out_of_range) {
    warnings.push_back(fmt::format(
        "{}: gradients in f16 reach from {:g} to {:g}, so almost all of them will be {}; use a "
        "power of two between 1 and 32768, or --auto-loss-scaling",
        fixed, kSmallestF16, kLargestF16, flags.loss_scaling > 1 ? "cut off" : "zero"));
  }
  if (precision.compute == DType::f16 || !(scaled || flags.auto_loss_scaling)) return warnings;
  const std::string name = flags.auto_loss_scaling ? "--auto-loss-scaling" : fixed;
  if (precision.half()) {
    warnings.push_back(concat(name, " gains nothing in ", to_string(precision),
                              ": bf16 has the range of f32, so gradients need no scaling"));
  } else if (flags.auto_loss_scaling) {
    warnings.push_back(
        "--auto-loss-scaling gains nothing in 32.32: it counts half-precision gradients, and "
        "without any the factor only grows; use --precision 16.16 or 16.32, or remove it");
  } else {
    warnings.push_back(concat(name, " gains nothing in 32.32: gradients need no scaling"));
  }
  return warnings;
}

std::string slow_half(const Precision& precision, const std::vector<std::string>& instructions) {
  if (!precision.half()) return "";
  const bool is_f16 = precision.compute == DType::f16;
  const std::vector<std::string> native = is_f16
                                              ? std::vector<std::string>{"avx512_fp16", "amx_fp16"}
                                              : std::vector<std::string>{"avx512_bf16", "amx_bf16"};
  const bool has = std::ranges::any_of(native, [&](const std::string& name) {
    return std::ranges::find(instructions, name) != instructions.end();
  });
  const std::string isa = requested_isa();
  if (has && (isa.empty() || isa == "avx512")) return "";
  return fmt::format(
      "--precision {}: this processor has no products of {}, so numbers are converted to f32 and "
      "back: half precision saves memory but is slower than 32.32",
      to_string(precision), is_f16 ? "f16" : "bf16");
}

Loss make_loss(const LossFlags& flags, const std::string& name, bool mixed) {
  const double smoothing = flags.label_smoothing.value_or(0);
  if (mixed) return CategoricalCrossentropy({.label_smoothing = smoothing, .any_labels = true});
  if (smoothing == 0) return name;
  if (name != "sparse_categorical_crossentropy") {
    throw UsageError("--label-smoothing: needs a loss with classes, but the model is trained with ",
                     name, "; remove the flag");
  }
  return SparseCategoricalCrossentropy({.label_smoothing = *flags.label_smoothing});
}

}  // namespace pando::app
