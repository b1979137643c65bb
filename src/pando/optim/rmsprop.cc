// RMSprop as in Keras:  s = rho s + (1 - rho) g^2;  without momentum w -= lr g / (sqrt(s) + eps);
// with momentum  v = momentum v + lr g / sqrt(s + eps),  w -= v.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/base/multiversion.h"
#include "pando/optim/optimizer.h"
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
  std::vector<std::string> slot_names() const override {
    return options_.momentum > 0 ? std::vector<std::string>{"rms", "momentum"}
                                 : std::vector<std::string>{"rms"};
  }
  bool holds_squares(size_t slot) const override { return slot == 0; }
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
  return {std::make_shared<RmspropRule>(options), options.learning_rate};
}

}  // namespace pando
