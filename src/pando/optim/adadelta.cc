// Adadelta (Zeiler 2012):  a = rho a + (1 - rho) g^2,  d = g sqrt(b + eps) / sqrt(a + eps),
// b = rho b + (1 - rho) d^2,  w -= lr d.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/multiversion.h"
#include "pando/optim/optimizers.h"
#include "pando/optim/ranges.h"

namespace pando {

namespace {

PANDO_MULTIVERSION void adadelta(const UpdateSpan& span, float lr, float rho, float epsilon) {
  float* __restrict w = span.weights;
  float* __restrict a = span.slots[0];
  float* __restrict b = span.slots[1];
  const float* __restrict g = span.gradient;
  for (size_t i = 0; i < span.count; ++i) {
    a[i] = rho * a[i] + (1 - rho) * g[i] * g[i];
    const float delta = g[i] * std::sqrt(b[i] + epsilon) / std::sqrt(a[i] + epsilon);
    b[i] = rho * b[i] + (1 - rho) * delta * delta;
    w[i] -= lr * delta;
  }
}

class AdadeltaRule : public UpdateRule {
 public:
  explicit AdadeltaRule(const AdadeltaOptions& options) : options_(options) {}
  std::string name() const override { return "adadelta"; }
  std::vector<SlotSpec> slots() const override {
    return {{.name = "accum_grad", .squares = true}, {.name = "accum_var", .squares = true}};
  }
  void apply(const UpdateSpan& span, const UpdateStep& step) const override {
    adadelta(span, static_cast<float>(step.learning_rate), static_cast<float>(options_.rho),
             static_cast<float>(options_.epsilon));
  }

 private:
  AdadeltaOptions options_;
};

}  // namespace

Optimizer Adadelta(AdadeltaOptions options) {
  optim::require_rate("adadelta", options.learning_rate);
  optim::require_fraction("adadelta", "rho", options.rho);
  optim::require_positive("adadelta", "epsilon", options.epsilon);
  return Optimizer(std::make_shared<AdadeltaRule>(options), options.learning_rate);
}

namespace optim {

OptimizerRecord adadelta_optimizer() {
  const AdadeltaOptions keras;
  return {.name = "adadelta",
          .learning_rate = keras.learning_rate.at(0),
          .forms = {{.options = {{"rho", keras.rho, ParameterRange::fraction},
                                 {"epsilon", keras.epsilon, ParameterRange::positive}},
                     .make = [](const OptimizerSettings& given) {
                       return Adadelta({.learning_rate = given.learning_rate,
                                        .rho = given["rho"],
                                        .epsilon = given["epsilon"]});
                     }}}};
}

}  // namespace optim

}  // namespace pando
