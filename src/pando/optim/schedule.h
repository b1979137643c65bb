// Learning rates: a number, or a function of the number of weight updates so far. The functions are
// those of Keras 2. Each can be combined with a warm-up and with stairs.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace pando {

// Immutable, cheap to copy, thread-safe. A function must be pure: it is called for any weight
// update at any time, so that a resumed run has the same rates as an uninterrupted one.
class LearningRate {
 public:
  LearningRate(double rate) : constant_(rate) {}  // NOLINT(google-explicit-constructor): a number
  explicit LearningRate(std::function<double(int64_t)> function);

  // The rate of weight update `update`, counted from 0.
  double at(int64_t update) const { return function_ ? (*function_)(update) : constant_; }
  bool is_constant() const { return function_ == nullptr; }

 private:
  double constant_ = 0;
  std::shared_ptr<const std::function<double(int64_t)>> function_;
};

// Falls from the initial rate to 0 along half a cosine wave, then stays 0.
struct CosineDecayOptions {
  double initial_learning_rate = 0.01;
  int64_t decay_updates = 1;
};

// (initial - end) (1 - t / decay_updates)^power + end, then stays at the end rate.
struct PolynomialDecayOptions {
  double initial_learning_rate = 0.01;
  double decay_updates = 1;  // need not be whole
  double end_learning_rate = 0.0001;
  double power = 1;
};

// The first value up to and including weight update boundaries[0], the second up to and including
// boundaries[1], ..., the last value after all boundaries.
struct PiecewiseConstantDecayOptions {
  std::vector<int64_t> boundaries;  // ascending
  std::vector<double> values;       // one more than boundaries
};

// During a warm-up of W updates, update t has a rate multiplied by (t + 1) / (W + 1).
enum class WarmupMode {
  shift,  // multiplies the first rate of the schedule, which starts after the warm-up
  mask,   // multiplies the rate of update t: the schedule starts with the warm-up
};
struct WarmupOptions {
  WarmupMode mode = WarmupMode::shift;
  int64_t updates = 0;
};

// Each throws InvalidArgument for a number out of range.
LearningRate CosineDecay(const CosineDecayOptions& options);
LearningRate PolynomialDecay(const PolynomialDecayOptions& options);
LearningRate PiecewiseConstantDecay(PiecewiseConstantDecayOptions options);
LearningRate with_warmup(LearningRate rate, const WarmupOptions& options);
// Takes the rate of updates 0, tread, 2 tread, ... and keeps each for `tread` updates.
LearningRate in_stairs(LearningRate rate, int64_t tread);

}  // namespace pando
