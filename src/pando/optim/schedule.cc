// SPDX-License-Identifier: MIT
#include "pando/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pando/base/error.h"
#include "pando/optim/ranges.h"

namespace pando {

LearningRate::LearningRate(std::function<double(int64_t)> function) {
  if (!function) throw InvalidArgument("learning rate: expected a function, got an empty one");
  function_ = std::make_shared<const std::function<double(int64_t)>>(std::move(function));
}

LearningRate CosineDecay(const CosineDecayOptions& options) {
  optim::require_not_negative("cosine decay", "initial_learning_rate",
                              options.initial_learning_rate);
  if (options.decay_updates < 1) {
    throw InvalidArgument("cosine decay: decay_updates: expected at least 1, got ",
                          options.decay_updates);
  }
  return LearningRate([options](int64_t update) {
    const double done = static_cast<double>(std::min(update, options.decay_updates)) /
                        static_cast<double>(options.decay_updates);
    return options.initial_learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
  });
}

LearningRate PolynomialDecay(const PolynomialDecayOptions& options) {
  constexpr const char* kName = "polynomial decay";
  optim::require_not_negative(kName, "initial_learning_rate", options.initial_learning_rate);
  optim::require_not_negative(kName, "end_learning_rate", options.end_learning_rate);
  optim::require_not_negative(kName, "power", options.power);
  optim::require_positive(kName, "decay_updates", options.decay_updates);
  return LearningRate([options](int64_t update) {
    const double done =
        std::min(static_cast<double>(update), options.decay_updates) / options.decay_updates;
    return (options.initial_learning_rate - options.end_learning_rate) *
               std::pow(1 - done, options.power) +
           options.end_learning_rate;
  });
}

LearningRate PiecewiseConstantDecay(PiecewiseConstantDecayOptions options) {
  constexpr const char* kName = "piecewise constant decay";
  if (options.values.size() != options.boundaries.size() + 1) {
    throw InvalidArgument(kName, ": expected ", options.boundaries.size() + 1, " values for ",
                          options.boundaries.size(), " boundaries, got ", options.values.size());
  }
  if (!std::is_sorted(options.boundaries.begin(), options.boundaries.end())) {
    throw InvalidArgument(kName, ": boundaries: expected ascending order");
  }
  for (const double value : options.values) optim::require_not_negative(kName, "values", value);
  return LearningRate([options = std::move(options)](int64_t update) {
    const auto bound =
        std::lower_bound(options.boundaries.begin(), options.boundaries.end(), update);
    return options.values[static_cast<size_t>(bound - options.boundaries.begin())];
  });
}

LearningRate with_warmup(LearningRate rate, const WarmupOptions& options) {
  if (options.updates < 0) {
    throw InvalidArgument("warm-up: updates: expected 0 or more, got ", options.updates);
  }
  if (options.updates == 0) return rate;
  return LearningRate([rate = std::move(rate), options](int64_t update) {
    const bool shifts = options.mode == WarmupMode::shift;
    if (update >= options.updates) return rate.at(shifts ? update - options.updates : update);
    return rate.at(shifts ? 0 : update) * static_cast<double>(update + 1) /
           static_cast<double>(options.updates + 1);
  });
}

LearningRate in_stairs(LearningRate rate, int64_t tread) {
  if (tread < 1) throw InvalidArgument("stairs: tread: expected at least 1, got ", tread);
  if (rate.is_constant()) return rate;
  return LearningRate(
      [rate = std::move(rate), tread](int64_t update) { return rate.at(update / tread * tread); });
}

}  // namespace pando
