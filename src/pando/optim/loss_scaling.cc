// SPDX-License-Identifier: MIT
#include "pando/optim/loss_scaling.h"

#include <cmath>

#include "pando/base/error.h"

namespace pando {

namespace {

// Factors in this range and their inverses are f32 numbers of full precision.
constexpr double kLeastFactor = 1e-30;
constexpr double kMostFactor = 1e30;
constexpr double kLargestHalf = 65504;  // larger numbers are stored as this

// Writes whole numbers with all digits, so that large powers of two are exact.
std::string text_of(double value) {
  constexpr double kMostDigits = 1e15;
  const bool is_whole = std::abs(value) < kMostDigits && value == std::trunc(value);
  return is_whole ? std::to_string(static_cast<int64_t>(value)) : concat(value);
}

void check_power_of_two(const char* option, double value, double least) {
  int exponent = 0;
  if (value >= least && value <= kMostFactor && std::frexp(value, &exponent) == 0.5) return;
  throw InvalidArgument(option, ": expected a power of two from ", least, " to 2^99, got ",
                        text_of(value));
}

void check_range(const char* option, bool holds, double value, const char* wanted) {
  if (!holds) throw InvalidArgument(option, ": expected ", wanted, ", got ", text_of(value));
}

void validate(const AutoLossScaling& options) {
  const double initial = options.initial_loss_scaling_factor;
  const double most = options.max_loss_scaling_factor;
  check_power_of_two("initial_loss_scaling_factor", initial, 1);
  check_power_of_two("increase_factor", options.increase_factor, 2);
  check_power_of_two("max_loss_scaling_factor", most, 2);
  if (!(initial < most)) {
    throw InvalidArgument("initial_loss_scaling_factor: expected less than ", text_of(most),
                          " (max_loss_scaling_factor), got ", text_of(initial));
  }
  if (!(initial * options.increase_factor < most)) {
    throw InvalidArgument("initial_loss_scaling_factor * increase_factor: expected less than ",
                          text_of(most),
                          " (max_loss_scaling_factor), so that the factor can grow, "
                          "got ",
                          text_of(initial * options.increase_factor));
  }
  if (options.update_frequency < 1) {
    throw InvalidArgument("update_frequency: expected at least 1, got ", options.update_frequency);
  }
  const double ratio = options.ratio_threshold;
  check_range("ratio_threshold", ratio > 0 && ratio < 1, ratio, "above 0 and below 1");
  const double alpha = options.lpf_alpha;
  check_range("lpf_alpha", alpha >= 0 && alpha < 1, alpha, "at least 0 and below 1");
  const double edge = options.histogram_bin_edge;
  check_range("histogram_bin_edge", edge >= kLeastFactor && edge < kLargestHalf, edge,
              "at least 1e-30 and below 65504 (the largest number of f16)");
  if (options.captured_grads_only) {
    throw InvalidArgument(
        "captured_grads_only: expected false, got true; gradients of activations cannot be "
        "captured here, and the gradients of all weights are counted");
  }
}

}  // namespace

std::string to_string(const LossScaling& scaling) {
  if (!scaling.automatic) {
    return scaling.factor == 0 || scaling.factor == 1 ? "none" : text_of(scaling.factor);
  }
  const AutoLossScaling& options = scaling.options;
  return concat("automatic from ", text_of(options.initial_loss_scaling_factor), ", by ",
                text_of(options.increase_factor), " every ", options.update_frequency,
                options.update_frequency == 1 ? " weight update" : " weight updates", ", below ",
                text_of(options.max_loss_scaling_factor), ", at most ", options.ratio_threshold,
                " of the gradients beyond ", text_of(options.histogram_bin_edge),
                options.accumulate_statistics_over_update_period ? "" : " in the last one",
                options.lpf_alpha == 0 ? "" : concat(", filtered by ", options.lpf_alpha));
}

void validate(const LossScaling& scaling) {
  const double factor = scaling.factor;
  check_range("loss scaling factor",
              factor == 0 || (factor >= kLeastFactor && factor <= kMostFactor), factor,
              "0 (none) or a number from 1e-30 to 1e30");
  if (scaling.automatic) validate(scaling.options);
}

LossScalerState::Numbers LossScalerState::numbers() const {
  return {factor,     static_cast<double>(updates), histogram[0], histogram[1], filtered[0],
          filtered[1]};
}

LossScalerState LossScalerState::of(const Numbers& numbers) {
  return {.factor = numbers[0],
          .updates = static_cast<int64_t>(numbers[1]),
          .histogram = {numbers[2], numbers[3]},
          .filtered = {numbers[4], numbers[5]}};
}

LossScaler::LossScaler(const LossScaling& scaling) : scaling_(scaling) {
  validate(scaling);
  reset();
}

void LossScaler::reset() {
  state_ = {};
  if (scaling_.automatic) {
    state_.factor = scaling_.options.initial_loss_scaling_factor;
  } else if (scaling_.factor > 0) {
    state_.factor = scaling_.factor;
  }
}

bool LossScaler::counts() const {
  const AutoLossScaling& options = scaling_.options;
  const bool due = state_.updates + 1 >= options.update_frequency;
  return scaling_.automatic && (options.accumulate_statistics_over_update_period || due);
}

void LossScaler::update(const GradientCounts& counts) {
  if (!scaling_.automatic) return;
  if (this->counts()) {
    for (size_t i = 0; i < counts.size(); ++i) state_.histogram[i] += counts[i];
  }
  if (++state_.updates >= scaling_.options.update_frequency) follow();
}

// Changes the factor at the end of a period. If nothing was counted, the ratio is NaN and therefore
// not above the threshold.
void LossScaler::follow() {
  const AutoLossScaling& options = scaling_.options;
  GradientCounts& filtered = state_.filtered;
  for (size_t i = 0; i < filtered.size(); ++i) {
    filtered[i] = options.lpf_alpha * filtered[i] + (1 - options.lpf_alpha) * state_.histogram[i];
  }
  const double ratio = filtered[1] / (filtered[0] + filtered[1]);
  const bool shrinks = ratio > options.ratio_threshold;
  const double next =
      shrinks ? state_.factor / options.increase_factor : state_.factor * options.increase_factor;
  // A restored factor may exceed the limit; it must be able to shrink below it.
  if (shrinks ? next >= 1 : next < options.max_loss_scaling_factor) state_.factor = next;
  state_.updates = 0;
  state_.histogram = {};
}

}  // namespace pando
