// Loss scaling: the loss is multiplied with a factor while gradients are computed, so that small
// ones do not vanish in half precision, and gradients are divided by it before a weight update
// uses them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace pando {

// The automatic one follows the share of gradients beyond `histogram_bin_edge`: above
// `ratio_threshold` the factor shrinks by `increase_factor`, otherwise it grows by it, every
// `update_frequency` weight updates, and stays at least 1 and below `max_loss_scaling_factor`.
// Without any half-precision gradients it grows.
struct AutoLossScaling {
  double initial_loss_scaling_factor = 1;  // a power of two, as the two other factors
  int64_t update_frequency = 8;
  double increase_factor = 2;
  double max_loss_scaling_factor = 32768;
  // Counts the gradients of all weight updates of a period; otherwise of its last one alone.
  bool accumulate_statistics_over_update_period = true;
  double ratio_threshold = 1e-5;  // above 0, below 1
  // The share of the counts of earlier periods in those that decide: each period's are mixed as
  // filtered = lpf_alpha * filtered + (1 - lpf_alpha) * counts.
  double lpf_alpha = 0;              // below 1
  double histogram_bin_edge = 8192;  // above 0, below 65504, the largest number of f16
  // Only gradients of activations that the user chose; there are none here, so true is refused.
  bool captured_grads_only = false;
};

struct LossScaling {
  double factor = 1;  // of static scaling; 0: none, as 1
  bool automatic = false;
  AutoLossScaling options;  // of automatic scaling
};

// "none", "128", "automatic from 1, by 2 every 8 weight updates, ...": all that has an effect.
std::string to_string(const LossScaling& scaling);

// Throws InvalidArgument that names the option.
void validate(const LossScaling& scaling);

// How many gradients lie below and beyond the edge.
using GradientCounts = std::array<double, 2>;

// The state that a run saves and restores.
struct LossScalerState {
  double factor = 1;
  int64_t updates = 0;            // of the period so far
  GradientCounts histogram = {};  // of the period so far
  GradientCounts filtered = {};   // of the periods before

  bool operator==(const LossScalerState&) const = default;

  // All of it as numbers, for files and messages.
  using Numbers = std::array<double, 6>;
  Numbers numbers() const;
  static LossScalerState of(const Numbers& numbers);
};

// Follows the gradients of one run. Not thread-safe.
class LossScaler {
 public:
  explicit LossScaler(const LossScaling& scaling = {});  // throws as validate()

  float factor() const { return static_cast<float>(state_.factor); }
  bool automatic() const { return scaling_.automatic; }
  // Whether the gradients of the next weight update are to be counted.
  bool counts() const;
  float edge() const { return static_cast<float>(scaling_.options.histogram_bin_edge); }
  // After a weight update, with what was counted in it.
  void update(const GradientCounts& counts);

  const LossScalerState& state() const { return state_; }
  void restore(const LossScalerState& state) { state_ = state; }
  void reset();

 private:
  void follow();

  LossScaling scaling_;
  LossScalerState state_;
};

}  // namespace pando
