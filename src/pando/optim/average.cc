// The moving average of the weights: after each update, a += (1 - decay) * (w - a).
// SPDX-License-Identifier: MIT
#include "pando/base/multiversion.h"
#include "pando/optim/optimizer.h"
#include "pando/optim/ranges.h"

namespace pando {

namespace {

PANDO_MULTIVERSION void follow_weights(float* __restrict average, const float* __restrict weights,
                                       size_t count, float share) {
  for (size_t i = 0; i < count; ++i) average[i] += share * (weights[i] - average[i]);
}

// Another rule, which does not know of the slot after its own.
class AveragedRule : public UpdateRule {
 public:
  AveragedRule(std::shared_ptr<const UpdateRule> inner, double decay)
      : inner_(std::move(inner)), decay_(decay) {}
  std::string name() const override { return inner_->name(); }
  std::vector<SlotSpec> slots() const override {
    std::vector<SlotSpec> slots = inner_->slots();
    slots.push_back({.name = "average", .is_average = true});
    return slots;
  }
  bool wants_norms() const override { return inner_->wants_norms(); }
  bool decays_weights() const override { return inner_->decays_weights(); }
  double average_decay() const override { return decay_; }
  void apply(const UpdateSpan& span, const UpdateStep& step) const override {
    inner_->apply(span, step);
    follow_weights(span.slots.back(), span.weights, span.count, static_cast<float>(1 - decay_));
  }

 private:
  std::shared_ptr<const UpdateRule> inner_;
  double decay_;
};

}  // namespace

Optimizer with_average(Optimizer optimizer, double decay) {
  PANDO_CHECK(optimizer.rule != nullptr);
  const std::string name = optimizer.rule->name();
  optim::require_fraction(name.c_str(), "decay of the average", decay);
  if (optimizer.rule->average_decay() > 0) {
    throw InvalidArgument(name, ": expected an optimizer without an average, got one with decay ",
                          optimizer.rule->average_decay());
  }
  if (decay == 0) return optimizer;
  optimizer.rule = std::make_shared<AveragedRule>(std::move(optimizer.rule), decay);
  return optimizer;
}

}  // namespace pando
