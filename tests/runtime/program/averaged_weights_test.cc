#include "pando/runtime/program/averaged_weights.h"

#include <cstring>

#include <gtest/gtest.h>

namespace pando::runtime {
namespace {

VariableStore half_trained(DType type) {
  VariableStore store;
  for (const char* name : {"a", "b"}) {
    Tensor value(DType::f32, {3});
    value.f32()[1] = 2;
    store.add(name, std::move(value));
  }
  store.add("statistic", Tensor(DType::f32, {3}), 0.9);
  store.convert(type);
  store.ensure_slots(*with_average(SGD(), 0.5).rule);
  for (Variable& variable : store.all()) {  // as after some updates
    if (Tensor* average = store.average_of(variable)) average->f32()[0] = 1.0009765625f + 1e-4f;
  }
  return store;
}

TEST(AveragedWeightsTest, BeginWithTheWeightsInF32) {
  VariableStore store = half_trained(DType::f16);
  EXPECT_TRUE(store.has_averages());
  const Tensor* average = store.average_of(store.get("a"));
  ASSERT_NE(average, nullptr);
  EXPECT_EQ(average->dtype(), DType::f32);
  EXPECT_EQ(average->f32()[1], 2);
  EXPECT_EQ(store.average_of(store.get("statistic")), nullptr);
}

TEST(AveragedWeightsTest, AreInPlaceForAWhile) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    VariableStore store = half_trained(type);
    Variable& variable = store.get("b");
    const std::byte* address = variable.value.data();
    const Tensor before = variable.value;
    const Tensor average = store.shown(variable);
    {
      const AveragedWeights averaged(store);
      EXPECT_TRUE(store.shows_averages());
      EXPECT_EQ(variable.value.data(), address);
      EXPECT_NEAR(cast(variable.value, DType::f32).f32()[0], 1, 0.01);
      EXPECT_EQ(&store.shown(variable), &variable.value);
      const AveragedWeights again(store);  // does nothing
      EXPECT_NEAR(cast(variable.value, DType::f32).f32()[0], 1, 0.01);
    }
    EXPECT_FALSE(store.shows_averages());
    EXPECT_EQ(std::memcmp(variable.value.data(), before.data(), before.bytes()), 0);
    EXPECT_EQ(std::memcmp(store.shown(variable).data(), average.data(), average.bytes()), 0);
  }
}

TEST(AveragedWeightsTest, DoNothingWithoutAverages) {
  VariableStore store;
  store.add("a", Tensor(DType::f32, {2}));
  store.ensure_slots(*SGD({.momentum = 0.9}).rule);
  EXPECT_FALSE(store.has_averages());
  const AveragedWeights averaged(store);
  EXPECT_FALSE(store.shows_averages());
  EXPECT_EQ(&store.shown(store.get("a")), &store.get("a").value);
}

TEST(AveragedWeightsTest, CanBeAdopted) {
  VariableStore store = half_trained(DType::f32);
  store.adopt_averages();
  EXPECT_EQ(store.get("a").value.f32()[0], 1.0009765625f + 1e-4f);
}

}  // namespace
}  // namespace pando::runtime
