// Adagrad (Duchi et al. 2011):  a = a + g^2,  w -= lr g / (sqrt(a) + eps), where a begins with
// `initial_accumulator`. With 0 instead of Keras' 0.1 it is that of PyTorch and ONNX.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/multiversion.h"
#include "pando/optim/optimizers.h"
#include "pando/optim/ranges.h"

namespace pando {

namespace {

PANDO_MULTIVERSION void adagrad(const UpdateSpan& span, float lr, float epsilon) {
  float* __restrict w = span.weights;
  float* __restrict a = span.slots[0];
  const float* __restrict g = span.gradient;
  for (size_t i = 0; i < span.count; ++i) {
    a[i] += g[i] * g[i];
    w[i] -= lr * g[i] / (std::sqrt(a[i]) + epsilon);
  }
}

class AdagradRule : public UpdateRule {
 public:
  explicit AdagradRule(const AdagradOptions& options) : options_(options) {}
  std::string name() const override { return "adagrad"; }
  std::vector<SlotSpec> slots() const override {
    return {{.name = "accumulator",
             .squares = true,
             .initial = static_cast<float>(options_.initial_accumulator)}};
  }
  void apply(const UpdateSpan& span, const UpdateStep& step) const override {
    adagrad(span, static_cast<float>(step.learning_rate), static_cast<float>(options_.epsilon));
  }

 private:
  AdagradOptions options_;
};

}  // namespace

Optimizer Adagrad(AdagradOptions options) {
  optim::require_rate("adagrad", options.learning_rate);
  optim::require_not_negative("adagrad", "initial_accumulator", options.initial_accumulator);
  optim::require_positive("adagrad", "epsilon", options.epsilon);
  return Optimizer(std::make_shared<AdagradRule>(options), options.learning_rate);
}

namespace optim {

OptimizerRecord adagrad_optimizer() {
  const AdagradOptions keras;
  return {.name = "adagrad",
          .learning_rate = keras.learning_rate.at(0),
          .forms = {{.options = {{"initial_accumulator_value", keras.initial_accumulator,
                                  ParameterRange::not_negative},
                                 {"epsilon", keras.epsilon, ParameterRange::positive}},
                     .make = [](const OptimizerSettings& given) {
                       return Adagrad({.learning_rate = given.learning_rate,
                                       .initial_accumulator = given["initial_accumulator_value"],
                                       .epsilon = given["epsilon"]});
                     }}}};
}

}  // namespace optim

}  // namespace pando
