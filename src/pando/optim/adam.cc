// Adam (Kingma, Ba 2014) in the order of operations of Keras:  m = b1 m + (1 - b1) g,
// v = b2 v + (1 - b2) g^2,  w -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps);
// AdamW (Loshchilov, Hutter 2017) first subtracts lr * weight_decay * w from w.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/multiversion.h"
#include "pando/optim/optimizers.h"
#include "pando/optim/ranges.h"

namespace pando {

namespace {

struct AdamNumbers {
  float rate;   // includes both bias corrections
  float decay;  // lr * weight_decay
  float beta_1;
  float beta_2;
  float epsilon;
};

PANDO_MULTIVERSION void adam(const UpdateSpan& span, const AdamNumbers& n) {
  float* __restrict w = span.weights;
  float* __restrict m = span.slots[0];
  float* __restrict v = span.slots[1];
  const float* __restrict g = span.gradient;
  for (size_t i = 0; i < span.count; ++i) {
    w[i] -= n.decay * w[i];
    m[i] = n.beta_1 * m[i] + (1 - n.beta_1) * g[i];
    v[i] = n.beta_2 * v[i] + (1 - n.beta_2) * g[i] * g[i];
    w[i] -= n.rate * m[i] / (std::sqrt(v[i]) + n.epsilon);
  }
}

class AdamRule : public UpdateRule {
 public:
  AdamRule(std::string name, AdamWOptions options)
      : name_(std::move(name)), options_(std::move(options)) {}
  std::string name() const override { return name_; }
  std::vector<SlotSpec> slots() const override { return {{"m"}, {.name = "v", .squares = true}}; }
  bool decays_weights() const override { return options_.weight_decay > 0; }
  void apply(const UpdateSpan& span, const UpdateStep& step) const override {
    const auto t = static_cast<double>(step.iteration + 1);
    const double rate = step.learning_rate * std::sqrt(1 - std::pow(options_.beta_2, t)) /
                        (1 - std::pow(options_.beta_1, t));
    adam(span, {.rate = static_cast<float>(rate),
                .decay = static_cast<float>(step.learning_rate * options_.weight_decay),
                .beta_1 = static_cast<float>(options_.beta_1),
                .beta_2 = static_cast<float>(options_.beta_2),
                .epsilon = static_cast<float>(options_.epsilon)});
  }

 private:
  std::string name_;
  AdamWOptions options_;
};

Optimizer make_adam(const char* name, const AdamWOptions& options) {
  optim::require_rate(name, options.learning_rate);
  optim::require_fraction(name, "beta_1", options.beta_1);
  optim::require_fraction(name, "beta_2", options.beta_2);
  optim::require_positive(name, "epsilon", options.epsilon);
  optim::require_not_negative(name, "weight_decay", options.weight_decay);
  return Optimizer(std::make_shared<AdamRule>(name, options), options.learning_rate);
}

}  // namespace

Optimizer Adam(AdamOptions options) {
  return make_adam("adam", {.learning_rate = options.learning_rate,
                            .weight_decay = 0,
                            .beta_1 = options.beta_1,
                            .beta_2 = options.beta_2,
                            .epsilon = options.epsilon});
}

Optimizer AdamW(AdamWOptions options) { return make_adam("adamw", options); }

namespace optim {

OptimizerRecord adam_optimizer() {
  const AdamOptions keras;
  return {.name = "adam",
          .learning_rate = keras.learning_rate.at(0),
          .forms = {{.options = {{"beta_1", keras.beta_1, ParameterRange::fraction},
                                 {"beta_2", keras.beta_2, ParameterRange::fraction},
                                 {"epsilon", keras.epsilon, ParameterRange::positive}},
                     .make = [](const OptimizerSettings& given) {
                       return Adam({.learning_rate = given.learning_rate,
                                    .beta_1 = given["beta_1"],
                                    .beta_2 = given["beta_2"],
                                    .epsilon = given["epsilon"]});
                     }}}};
}

OptimizerRecord adamw_optimizer() {
  const AdamWOptions keras;
  return {
      .name = "adamw",
      .learning_rate = keras.learning_rate.at(0),
      .without_decay = "adam",
      .forms = {{.options = {{"beta_1", keras.beta_1, ParameterRange::fraction},
                             {"beta_2", keras.beta_2, ParameterRange::fraction},
                             {"epsilon", keras.epsilon, ParameterRange::positive},
                             {"weight_decay", keras.weight_decay, ParameterRange::not_negative}},
                 .make = [](const OptimizerSettings& given) {
                   return AdamW({.learning_rate = given.learning_rate,
                                 .weight_decay = given["weight_decay"],
                                 .beta_1 = given["beta_1"],
                                 .beta_2 = given["beta_2"],
                                 .epsilon = given["epsilon"]});
                 }}}};
}

}  // namespace optim

}  // namespace pando
