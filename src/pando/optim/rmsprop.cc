// RMSprop as in Keras:  s = rho s + (1 - rho) g^2;  without momentum w -= lr g / (sqrt(s) + eps);
// with momentum  v = momentum v + lr g / sqrt(s + eps),  w -= v.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/multiversion.h"
#include "pando/optim/optimizers.h"
#include "pando/optim/ranges.h"

namespace pando {

namespace {

struct RmspropNumbers {
  float lr;
  float rho;
  float momentum;
  float epsilon;
};

PANDO_MULTIVERSION void without_momentum(const UpdateSpan& span, const RmspropNumbers& n) {
  float* __restrict w = span.weights;
  float* __restrict s = span.slots[0];
  const float* __restrict g = span.gradient;
  for (size_t i = 0; i < span.count; ++i) {
    s[i] = n.rho * s[i] + (1 - n.rho) * g[i] * g[i];
    w[i] -= n.lr * g[i] / (std::sqrt(s[i]) + n.epsilon);
  }
}

PANDO_MULTIVERSION void with_momentum(const UpdateSpan& span, const RmspropNumbers& n) {
  float* __restrict w = span.weights;
  float* __restrict s = span.slots[0];
  float* __restrict v = span.slots[1];
  const float* __restrict g = span.gradient;
  for (size_t i = 0; i < span.count; ++i) {
    s[i] = n.rho * s[i] + (1 - n.rho) * g[i] * g[i];
    v[i] = n.momentum * v[i] + n.lr * g[i] / std::sqrt(s[i] + n.epsilon);
    w[i] -= v[i];
  }
}

class RmspropRule : public UpdateRule {
 public:
  explicit RmspropRule(const RmspropOptions& options) : options_(options) {}
  std::string name() const override { return "rmsprop"; }
  std::vector<SlotSpec> slots() const override {
    std::vector<SlotSpec> slots = {{.name = "rms", .squares = true}};
    if (options_.momentum > 0) slots.push_back({"momentum"});
    return slots;
  }
  void apply(const UpdateSpan& span, const UpdateStep& step) const override {
    const RmspropNumbers numbers = {
        static_cast<float>(step.learning_rate), static_cast<float>(options_.rho),
        static_cast<float>(options_.momentum), static_cast<float>(options_.epsilon)};
    options_.momentum > 0 ? with_momentum(span, numbers) : without_momentum(span, numbers);
  }

 private:
  RmspropOptions options_;
};

}  // namespace

Optimizer RMSprop(RmspropOptions options) {
  optim::require_rate("rmsprop", options.learning_rate);
  optim::require_fraction("rmsprop", "rho", options.rho);
  optim::require_fraction("rmsprop", "momentum", options.momentum);
  optim::require_positive("rmsprop", "epsilon", options.epsilon);
  return Optimizer(std::make_shared<RmspropRule>(options), options.learning_rate);
}

namespace optim {

namespace {

// 1 - 2^exponent * global batch size: the more samples an update has, the shorter the memory.
double rho_of(double exponent, int64_t global_batch_size) {
  const double rho = 1 - std::exp2(exponent) * static_cast<double>(global_batch_size);
  if (rho >= 0 && rho < 1) return rho;
  // Far below the upper limit, 1 - 2^exponent rounds to 1.
  throw InvalidArgument("base_decay_exponent: expected a number above about -53 and at most ",
                        -std::log2(static_cast<double>(global_batch_size)),
                        " for a global batch size of ", global_batch_size, ", got ", exponent,
                        "; rho = 1 - 2^", exponent, " * ", global_batch_size, " = ", rho,
                        " must be 0 or more and below 1");
}

}  // namespace

OptimizerRecord rmsprop_optimizer() {
  const RmspropOptions keras;
  return {.name = "rmsprop",
          .learning_rate = keras.learning_rate.at(0),
          .forms = {{.options = {{"rho", keras.rho, ParameterRange::fraction},
                                 {"momentum", keras.momentum, ParameterRange::fraction},
                                 {"epsilon", keras.epsilon, ParameterRange::positive}},
                     .make =
                         [](const OptimizerSettings& given) {
                           return RMSprop({.learning_rate = given.learning_rate,
                                           .rho = given["rho"],
                                           .momentum = given["momentum"],
                                           .epsilon = given["epsilon"]});
                         }},
                    {.key = "base_decay_exponent",
                     .options = {{"momentum", keras.momentum, ParameterRange::fraction, true},
                                 {"base_decay_exponent", 0, ParameterRange::any, true},
                                 {"epsilon", keras.epsilon, ParameterRange::positive, true}},
                     .make =
                         [](const OptimizerSettings& given) {
                           return RMSprop({.learning_rate = given.learning_rate,
                                           .rho = rho_of(given["base_decay_exponent"],
                                                         given.global_batch_size),
                                           .momentum = given["momentum"],
                                           .epsilon = given["epsilon"]});
                         },
                     .note = "rho = 1 - 2^base_decay_exponent * global batch size"}}};
}

}  // namespace optim

}  // namespace pando
