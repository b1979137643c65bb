// Optimizers: how a weight update changes the elements of a variable. A rule holds a few numbers;
// the runtime calls it for parts of variables on all workers at the same time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/optim/schedule.h"

namespace pando {

// The norms of a whole variable and of its gradient, for rules that need them.
struct UpdateNorms {
  double weights = 0;
  double gradient = 0;
};

// Consecutive elements of one variable, with their gradient and the slots of the rule.
struct UpdateSpan {
  float* weights = nullptr;
  const float* gradient = nullptr;
  std::vector<float*> slots = {};  // one per slot of the rule
  size_t count = 0;
  UpdateNorms norms;            // only if the rule wants_norms()
  bool scale_or_shift = false;  // the variable is a bias, a beta or a gamma
};

struct UpdateStep {
  double learning_rate = 0;
  int64_t iteration = 0;  // weight updates before this one
  float unscale = 1;      // gradients are multiplied by this first: 1 / loss scaling factor
  uint64_t seed = 0;      // the seed of the run, for stochastic rounding
};

// A number that a rule keeps for every weight.
struct SlotSpec {
  std::string name;  // in checkpoints
  // The slot holds squares of gradients or of changes. Most are too small for f16, so the slot is
  // f32 if the weights are f16.
  bool squares = false;
  float initial = 0;  // before the first update
  // The slot is the moving average of the weights: f32, and before the first update the weights
  // themselves. It is the last slot of its rule.
  bool is_average = false;

  bool operator==(const SlotSpec&) const = default;
};

// The formulas and defaults are those of Keras 2. Immutable; thread-safe.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  virtual std::string name() const = 0;  // "sgd"
  virtual std::vector<SlotSpec> slots() const { return {}; }
  // Whether apply() reads the norms; they cost a pass over all gradients.
  virtual bool wants_norms() const { return false; }
  // Whether the rule itself decays the weights, independently of the gradient.
  virtual bool decays_weights() const { return false; }
  // The decay of the moving average of the weights; 0: the rule keeps none.
  virtual double average_decay() const { return 0; }
  virtual void apply(const UpdateSpan& span, const UpdateStep& step) const = 0;
};

// Pulls all trained variables towards 0, with any rule. Moving statistics are not trained.
struct Regularization {
  // Before the rule is applied, w -= learning rate * weight_decay * w; the gradient is unchanged.
  double weight_decay = 0;
  double l2 = 0;  // the gradient becomes g + l2 * w, with the w before the decay
};

// A rule with its learning rate and regularisation, made by one of the functions below or from its
// name ("sgd") like make_optimizer(); cheap to copy.
struct Optimizer {
  Optimizer() = default;               // no rule
  Optimizer(const char* name);         // NOLINT(google-explicit-constructor): "sgd" reads well
  Optimizer(const std::string& name);  // NOLINT(google-explicit-constructor)
  explicit Optimizer(std::shared_ptr<const UpdateRule> rule_in, LearningRate rate = 0.0,
                     const Regularization& regularization_in = {})
      : rule(std::move(rule_in)),
        learning_rate(std::move(rate)),
        regularization(regularization_in) {}

  std::shared_ptr<const UpdateRule> rule;
  LearningRate learning_rate = 0.0;
  Regularization regularization = {};
  // Factors on the learning rate for the variables of these layers; 1 for all others.
  std::map<std::string, double> layer_rates = {};

  // The factor for a variable ("conv2d/bias").
  double rate_factor(const std::string& variable) const;
};

// Throws InvalidArgument for factors that are not finite or below 0.
Optimizer with_layer_rates(Optimizer optimizer, std::map<std::string, double> factors);

// Throws InvalidArgument for numbers below 0, and for a weight decay if the rule has its own
// (AdamW).
Optimizer regularized(Optimizer optimizer, const Regularization& regularization);

// Keeps a moving average of all trained weights beside them: after each update
// average += (1 - decay) * (weights - average), from the weights before the first update on.
// Training goes on with the weights; evaluation, predictions, get_weights() and files use the
// average. Moving statistics are not averaged again. A decay of 0 changes nothing. Throws
// InvalidArgument unless 0 <= decay < 1, and for an optimizer that has an average already.
Optimizer with_average(Optimizer optimizer, double decay);

struct SgdOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
};
struct LarsOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.9;
  double weight_decay = 0;  // enters the gradient and the trust, unlike that of Regularization
  double eeta = 0.001;
  double epsilon = 0;  // 0: 1e-7
  bool nesterov = false;
};
struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};
struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};
struct RmspropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
};
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
};
struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator = 0.1;
  double epsilon = 1e-7;
};

// Each throws InvalidArgument for a number out of range.
Optimizer SGD(SgdOptions options = {});
Optimizer LARS(LarsOptions options = {});
Optimizer Adam(AdamOptions options = {});
Optimizer AdamW(AdamWOptions options = {});
Optimizer RMSprop(RmspropOptions options = {});
Optimizer Adadelta(AdadeltaOptions options = {});
Optimizer Adagrad(AdagradOptions options = {});

// Whether a variable ("conv2d/bias") is a bias, a beta or a gamma, by the last part of its name.
bool is_scale_or_shift(std::string_view variable);

// Makes an optimizer from its lower-case name, with Keras' defaults. Throws InvalidArgument with
// the known names. The records are in optimizers.h.
Optimizer make_optimizer(const std::string& name);
std::vector<std::string> optimizer_names();

}  // namespace pando
