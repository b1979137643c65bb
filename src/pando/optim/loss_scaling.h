// Loss scaling: multiplies the loss by a factor while gradients are computed, so that small
// gradients do not vanish in half precision. Gradients are divided by the factor before a weight
// update uses them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace pando {

// Automatic loss scaling changes the factor every `update_frequency` weight updates. If more than
// `ratio_threshold` of the gradients exceed `histogram_bin_edge`, the factor is divided by
// `increase_factor`, otherwise multiplied by it; it stays at least 1 and below
// `max_loss_scaling_factor`. If there are no half-precision gradients, it grows.
struct AutoLossScaling {
  double initial_loss_scaling_factor = 1;  // a power of two, like the two other factors
  int64_t update_frequency = 8;
  double increase_factor = 2;
  double max_loss_scaling_factor = 32768;
  // Count the gradients of all weight updates of a period; if false, only those of its last update.
  bool accumulate_statistics_over_update_period = true;
  double ratio_threshold = 1e-5;  // above 0, below 1
  // The weight of the counts of earlier periods. The factor is chosen from the filtered counts:
  // filtered = lpf_alpha * filtered + (1 - lpf_alpha) * counts.
  double lpf_alpha = 0;              // below 1
  double histogram_bin_edge = 8192;  // above 0, below 65504, the largest number of f16
  // Count only gradients of activations that the user captures. Pando captures none, so true is an
  // error.
  bool captured_grads_only = false;
};

struct LossScaling {
  double factor = 1;  // of static scaling; 0 and 1: no scaling
  bool automatic = false;
  AutoLossScaling options;  // of automatic scaling
};

// "none", "128", "automatic from 1, by 2 every 8 weight updates, ...": all options with an effect.
std::string to_string(const LossScaling& scaling);

// Throws InvalidArgument that names the option.
void validate(const LossScaling& scaling);

// The numbers of gradients below and beyond the edge.
using GradientCounts = std::array<double, 2>;

// The state that a run saves and restores.
struct LossScalerState {
  double factor = 1;
  int64_t updates = 0;            // in the current period
  GradientCounts histogram = {};  // in the current period
  GradientCounts filtered = {};   // of the periods before

  bool operator==(const LossScalerState&) const = default;

  // The whole state as numbers, for files and messages.
  using Numbers = std::array<double, 6>;
  Numbers numbers() const;
  static LossScalerState of(const Numbers& numbers);
};

// Chooses the factor during one run from the counted gradients. Not thread-safe.
class LossScaler {
 public:
  explicit LossScaler(const LossScaling& scaling = {});  // throws like validate()

  float factor() const { return static_cast<float>(state_.factor); }
  bool automatic() const { return scaling_.automatic; }
  // Whether the caller must count the gradients of the next weight update.
  bool counts() const;
  float edge() const { return static_cast<float>(scaling_.options.histogram_bin_edge); }
  // Call after each weight update, with the gradients counted in it.
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
