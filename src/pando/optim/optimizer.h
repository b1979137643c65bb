// Optimizers: what a weight update does to the elements of a variable. A rule is a record of a
// few numbers; the runtime calls it for parts of variables on all workers at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pando/optim/schedule.h"

namespace pando {

// Of a whole variable and its gradient, for rules that want them.
struct UpdateNorms {
  double weights = 0;
  double gradient = 0;
};

// A run of elements of one variable, its gradient and the rule's slots for them.
struct UpdateSpan {
  float* weights = nullptr;
  const float* gradient = nullptr;
  std::vector<float*> slots = {};  // as many as the rule has
  size_t count = 0;
  UpdateNorms norms;            // only when the rule wants them
  bool scale_or_shift = false;  // of a bias, a beta or a gamma
};

struct UpdateStep {
  double learning_rate = 0;
  int64_t iteration = 0;  // weight updates before this one
  float unscale = 1;      // what gradients are multiplied with first: 1 / the loss scaling
  uint64_t seed = 0;      // of the run, for stochastic rounding
};

// Numbers that a rule keeps beside every weight.
struct SlotSpec {
  std::string name;  // in checkpoints
  // Squares of gradients or of moves, most of which are too small for f16: f32 beside f16 weights.
  bool squares = false;
  float initial = 0;  // before the first update

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
  // Whether it takes a share of the weights off them, apart from the gradient.
  virtual bool decays_weights() const { return false; }
  virtual void apply(const UpdateSpan& span, const UpdateStep& step) const = 0;
};

// What pulls all trained variables towards 0, whatever the rule. Moving statistics are not trained.
struct Regularization {
  // Before the rule is applied w -= learning rate * weight_decay * w; the gradient does not see it.
  double weight_decay = 0;
  double l2 = 0;  // the gradient becomes g + l2 * w, with w from before the decay
};

// A rule with its learning rate and regularisation; cheap to copy.
struct Optimizer {
  std::shared_ptr<const UpdateRule> rule;
  LearningRate learning_rate = 0.0;
  Regularization regularization = {};
};

// Throws InvalidArgument for numbers below 0 and for a weight decay beside that of AdamW.
Optimizer regularized(Optimizer optimizer, const Regularization& regularization);

struct SgdOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
};
struct LarsOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.9;
  double weight_decay = 0;  // in the gradient and the trust, unlike that of Regularization
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

// Each throws InvalidArgument for a number out of range.
Optimizer SGD(SgdOptions options = {});
Optimizer LARS(LarsOptions options = {});
Optimizer Adam(AdamOptions options = {});
Optimizer AdamW(AdamWOptions options = {});
Optimizer RMSprop(RmspropOptions options = {});
Optimizer Adadelta(AdadeltaOptions options = {});

// Whether a variable ("conv2d/bias") is a bias, a beta or a gamma, by the last part of its name.
bool is_scale_or_shift(std::string_view variable);

// An optimizer by its lower-case name, with Keras' defaults. Throws with the known names. The
// records are in optimizers.h.
Optimizer make_optimizer(const std::string& name);
std::vector<std::string> optimizer_names();

}  // namespace pando
