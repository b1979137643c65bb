// Optimizers: what a weight update does to the elements of a variable. A rule is a record of a
// few numbers; the runtime calls it for parts of variables on all workers at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  std::array<float*, 2> slots = {};
  size_t count = 0;
  UpdateNorms norms;  // only when the rule wants them
};

struct UpdateStep {
  double learning_rate = 0;
  int64_t iteration = 0;  // weight updates before this one
};

// The formulas and defaults are those of Keras 2. Immutable; thread-safe.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  virtual std::string name() const = 0;  // "sgd"
  virtual std::vector<std::string> slot_names() const = 0;
  // Whether apply() reads the norms; they cost a pass over all gradients.
  virtual bool wants_norms() const { return false; }
  virtual void apply(const UpdateSpan& span, const UpdateStep& step) const = 0;
};

// A rule with its learning rate; cheap to copy.
struct Optimizer {
  std::shared_ptr<const UpdateRule> rule;
  double learning_rate = 0;
};

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
};
struct AdamOptions {
  double learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};
struct AdamWOptions {
  double learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};
struct RmspropOptions {
  double learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
};
struct AdadeltaOptions {
  double learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
};

// Each throws InvalidArgument for a number out of range.
Optimizer SGD(SgdOptions options = {});
Optimizer Adam(AdamOptions options = {});
Optimizer AdamW(AdamWOptions options = {});
Optimizer RMSprop(RmspropOptions options = {});
Optimizer Adadelta(AdadeltaOptions options = {});

// An optimizer by its lower-case name, with Keras' defaults. Throws with the known names.
Optimizer make_optimizer(const std::string& name);
std::vector<std::string> optimizer_names();

}  // namespace pando
