#include <gtest/gtest.h>

#include "pando/optim/optimizer.h"

namespace pando {
namespace {

// The inner rule works as before, on its own slots.
TEST(Average, FollowsTheWeightsThatAnyRuleMakes) {
  for (const std::string& name : optimizer_names()) {
    const Optimizer plain = make_optimizer(name);
    const Optimizer averaged = with_average(plain, 0.75);
    const std::vector<SlotSpec> own = plain.rule->slots();
    std::vector<SlotSpec> slots = averaged.rule->slots();
    ASSERT_EQ(slots.size(), own.size() + 1) << name;
    EXPECT_TRUE(slots.back().is_average);
    EXPECT_EQ(averaged.rule->average_decay(), 0.75);
    EXPECT_EQ(averaged.rule->name(), name);
    EXPECT_EQ(averaged.rule->wants_norms(), plain.rule->wants_norms());
    EXPECT_EQ(averaged.rule->decays_weights(), plain.rule->decays_weights());

    std::vector<float> weights = {1, -2, 3};
    std::vector<float> expected = weights;
    const std::vector<float> before = weights;
    const std::vector<float> gradient = {0.5f, -0.25f, 1};
    std::vector<std::vector<float>> values(slots.size(), std::vector<float>(3));
    std::vector<std::vector<float>> own_values(own.size(), std::vector<float>(3));
    values.back() = weights;
    UpdateSpan span{.weights = weights.data(), .gradient = gradient.data(), .count = 3};
    span.norms = {.weights = 3.74, .gradient = 1.15};
    UpdateSpan own_span = span;
    own_span.weights = expected.data();
    for (std::vector<float>& slot : values) span.slots.push_back(slot.data());
    for (std::vector<float>& slot : own_values) own_span.slots.push_back(slot.data());
    averaged.rule->apply(span, {.learning_rate = 0.1});
    plain.rule->apply(own_span, {.learning_rate = 0.1});
    EXPECT_EQ(weights, expected) << name;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(values.back()[i], 0.75f * before[i] + 0.25f * weights[i], 1e-6) << name;
    }
  }
}

}  // namespace
}  // namespace pando
