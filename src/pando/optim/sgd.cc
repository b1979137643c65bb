// Stochastic gradient descent:  v = momentum * v - lr * g,  w += v;  with Nesterov momentum
// w += momentum * v - lr * g;  without momentum  w -= lr * g.
// SPDX-License-Identifier: MIT
#include "pando/base/multiversion.h"
#include "pando/optim/optimizers.h"
#include "pando/optim/ranges.h"

namespace pando {

namespace {

PANDO_MULTIVERSION void plain(float* w, const float* g, size_t count, float lr) {
  for (size_t i = 0; i < count; ++i) w[i] -= lr * g[i];
}

PANDO_MULTIVERSION void sgd_heavy_ball(float* __restrict w, float* __restrict v,
                                       const float* __restrict g, size_t count,
                                       std::array<float, 2> lr_and_momentum) {
  const auto [lr, momentum] = lr_and_momentum;
  for (size_t i = 0; i < count; ++i) {
    v[i] = momentum * v[i] - lr * g[i];
    w[i] += v[i];
  }
}

PANDO_MULTIVERSION void sgd_nesterov(float* __restrict w, float* __restrict v,
                                     const float* __restrict g, size_t count,
                                     std::array<float, 2> lr_and_momentum) {
  const auto [lr, momentum] = lr_and_momentum;
  for (size_t i = 0; i < count; ++i) {
    v[i] = momentum * v[i] - lr * g[i];
    w[i] += momentum * v[i] - lr * g[i];
  }
}

class SgdRule : public UpdateRule {
 public:
  explicit SgdRule(const SgdOptions& options)
      : momentum_(static_cast<float>(options.momentum)), nesterov_(options.nesterov) {}
  std::string name() const override { return "sgd"; }
  std::vector<SlotSpec> slots() const override {
    return momentum_ > 0 ? std::vector<SlotSpec>{{"momentum"}} : std::vector<SlotSpec>{};
  }
  void apply(const UpdateSpan& span, const UpdateStep& step) const override {
    const auto lr = static_cast<float>(step.learning_rate);
    if (momentum_ == 0) return plain(span.weights, span.gradient, span.count, lr);
    const auto run = nesterov_ ? sgd_nesterov : sgd_heavy_ball;
    run(span.weights, span.slots[0], span.gradient, span.count, {lr, momentum_});
  }

 private:
  float momentum_;
  bool nesterov_;
};

}  // namespace

Optimizer SGD(SgdOptions options) {
  optim::require_rate("sgd", options.learning_rate);
  optim::require_fraction("sgd", "momentum", options.momentum);
  if (options.nesterov && options.momentum == 0) {
    throw InvalidArgument("sgd: nesterov needs a momentum above 0, got 0");
  }
  return Optimizer(std::make_shared<SgdRule>(options), options.learning_rate);
}

namespace optim {

OptimizerRecord sgd_optimizer() {
  const SgdOptions keras;
  return {.name = "sgd",
          .learning_rate = keras.learning_rate.at(0),
          .rate_follows_batch = true,
          .forms = {{.options = {{.name = "momentum",
                                  .fallback = keras.momentum,
                                  .range = ParameterRange::fraction,
                                  .program_fallback = 0.9},
                                 {"nesterov", 0, ParameterRange::on_off}},
                     .make = [](const OptimizerSettings& given) {
                       return SGD({.learning_rate = given.learning_rate,
                                   .momentum = given["momentum"],
                                   .nesterov = given["nesterov"] != 0});
                     }}}};
}

}  // namespace optim

}  // namespace pando
