// Learning rates: a number, or a function of the weight updates made so far. The functions are
// those of Keras 2, with warm-up and stairs around any of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace pando {

// Immutable, cheap to copy, thread-safe. A function must be pure: it is asked for any weight update
// at any time, so that a run that goes on from a checkpoint has the rates of an unbroken one.
class LearningRate {
 public:
  LearningRate(double rate) : constant_(rate) {}  // NOLINT(google-explicit-constructor): a number
  explicit LearningRate(std::function<double(int64_t)> function);

  // Of weight update `update`, counted from 0.
  double at(int64_t update) const { return function_ ? (*function_)(update) : constant_; }
  bool is_constant() const { return function_ == nullptr; }

 private:
  double constant_ = 0;
  std::shared_ptr<const std::function<double(int64_t)>> function_;
};

// From the initial rate to 0 along half a cosine wave, then 0.
struct CosineDecayOptions {
  double initial_learning_rate = 0.01;
  int64_t decay_updates = 1;
};

// (initial - end) (1 - t / decay_updates)^power + end, then the end rate.
struct PolynomialDecayOptions {
  double initial_learning_rate = 0.01;
  double decay_updates = 1;  // need not be whole
  double end_learning_rate = 0.0001;
  double power = 1;
};

// The first value up to and with weight update boundaries[0], the second up to boundaries[1], ...,
// the last after all of them.
struct PiecewiseConstantDecayOptions {
  std::vector<int64_t> boundaries;  // ascending
  std::vector<double> values;       // one more
};

// Update t of the first W has the share (t + 1) / (W + 1) of the rate.
enum class WarmupMode {
  shift,  // ... of the first one; the others come W updates later
  mask,   // ... of its own
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
// The rate of updates 0, tread, 2 tread, ... each for `tread` updates.
LearningRate in_stairs(LearningRate rate, int64_t tread);

}  // namespace pando
