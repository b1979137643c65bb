// LARS (You, Gitman, Ginsburg 2017) as in MLPerf's reference. With n = |w| and the decay d:
// trust = eeta n / (|g| + d n + eps), or 1 if a norm is 0;  s = lr trust (g + d w),
// m = momentum m + s,  w -= m;  with Nesterov momentum  w -= momentum m + s. Biases and the
// weights of normalisation layers (beta, gamma) have trust 1 and no decay.
// SPDX-License-Identifier: MIT
#include "pando/base/multiversion.h"
#include "pando/optim/optimizers.h"
#include "pando/optim/ranges.h"

namespace pando {

namespace {

struct LarsNumbers {
  float rate;  // learning rate * trust
  float decay;
  float momentum;
};

PANDO_MULTIVERSION void lars_heavy_ball(const UpdateSpan& span, const LarsNumbers& n) {
  float* __restrict w = span.weights;
  float* __restrict m = span.slots[0];
  const float* __restrict g = span.gradient;
  for (size_t i = 0; i < span.count; ++i) {
    m[i] = n.momentum * m[i] + n.rate * (g[i] + n.decay * w[i]);
    w[i] -= m[i];
  }
}

PANDO_MULTIVERSION void lars_nesterov(const UpdateSpan& span, const LarsNumbers& n) {
  float* __restrict w = span.weights;
  float* __restrict m = span.slots[0];
  const float* __restrict g = span.gradient;
  for (size_t i = 0; i < span.count; ++i) {
    const float step = n.rate * (g[i] + n.decay * w[i]);
    m[i] = n.momentum * m[i] + step;
    w[i] -= n.momentum * m[i] + step;
  }
}

class LarsRule : public UpdateRule {
 public:
  explicit LarsRule(const LarsOptions& options) : options_(options) {}
  std::string name() const override { return "lars"; }
  std::vector<SlotSpec> slots() const override { return {{"momentum"}}; }
  bool wants_norms() const override { return true; }
  void apply(const UpdateSpan& span, const UpdateStep& step) const override {
    const bool adapts = !span.scale_or_shift;
    const LarsNumbers numbers = {
        static_cast<float>(step.learning_rate * (adapts ? trust(span.norms) : 1)),
        static_cast<float>(adapts ? options_.weight_decay : 0),
        static_cast<float>(options_.momentum)};
    options_.nesterov ? lars_nesterov(span, numbers) : lars_heavy_ball(span, numbers);
  }

 private:
  double trust(const UpdateNorms& norms) const {
    if (!(norms.weights > 0 && norms.gradient > 0)) return 1;
    return options_.eeta * norms.weights /
           (norms.gradient + options_.weight_decay * norms.weights + options_.epsilon);
  }

  LarsOptions options_;
};

}  // namespace

Optimizer LARS(LarsOptions options) {
  optim::require_rate("lars", options.learning_rate);
  optim::require_fraction("lars", "momentum", options.momentum);
  optim::require_not_negative("lars", "weight_decay", options.weight_decay);
  optim::require_positive("lars", "eeta", options.eeta);
  optim::require_not_negative("lars", "epsilon", options.epsilon);
  if (options.nesterov && options.momentum == 0) {
    throw InvalidArgument("lars: nesterov needs a momentum above 0, got 0");
  }
  constexpr double kKerasEpsilon = 1e-7;
  if (options.epsilon == 0) options.epsilon = kKerasEpsilon;
  return Optimizer(std::make_shared<LarsRule>(options), options.learning_rate);
}

namespace optim {

OptimizerRecord lars_optimizer() {
  const LarsOptions keras;
  return {.name = "lars",
          .learning_rate = keras.learning_rate.at(0),
          .rate_follows_batch = true,
          .forms = {
              {.options = {{"momentum", keras.momentum, ParameterRange::fraction, true},
                           {"weight_decay", keras.weight_decay, ParameterRange::not_negative, true},
                           {"eeta", keras.eeta, ParameterRange::positive, true},
                           {"epsilon", keras.epsilon, ParameterRange::not_negative, true},
                           {"nesterov", 0, ParameterRange::on_off}},
               .make = [](const OptimizerSettings& given) {
                 return LARS({.learning_rate = given.learning_rate,
                              .momentum = given["momentum"],
                              .weight_decay = given["weight_decay"],
                              .eeta = given["eeta"],
                              .epsilon = given["epsilon"],
                              .nesterov = given["nesterov"] != 0});
               }}}};
}

}  // namespace optim

}  // namespace pando
