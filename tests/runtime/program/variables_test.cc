#include "pando/runtime/program/variables.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/tensor/half.h"

namespace pando::runtime {
namespace {

TEST(VariableStore, FindsByName) {
  VariableStore store;
  store.add("a/kernel", Tensor::of_f32({2}, {1, 2}));
  store.add("a/moving_mean", Tensor::of_f32({1}, {3}), 0.99);
  EXPECT_FALSE(store.get("a/kernel").is_state());
  EXPECT_TRUE(store.get("a/moving_mean").is_state());
  EXPECT_EQ(store.get("a/kernel").value.f32()[1], 2);
  EXPECT_EQ(store.all()[1].name, "a/moving_mean");
}

TEST(VariableStore, UnknownAndDoubleNamesAreErrors) {
  VariableStore store;
  store.add("a", Tensor(DType::f32, {2}));
  EXPECT_THROW(store.get("b"), InternalError);
  EXPECT_THROW(store.add("a", Tensor(DType::f32, {2})), InternalError);
}

TEST(VariableStore, AddressesStayWhenItGrows) {
  VariableStore store;
  const std::byte* first = store.add("v0", Tensor(DType::f32, {2})).value.data();
  for (int i = 1; i < 100; ++i) store.add("v" + std::to_string(i), Tensor(DType::f32, {2}));
  EXPECT_EQ(store.get("v0").value.data(), first);
}

Optimizer momentum() { return SGD({.momentum = 0.9}); }

TEST(VariableStore, SlotsAreForTrainedVariablesOnly) {
  VariableStore store;
  store.add("kernel", Tensor(DType::f32, {2, 3}));
  store.add("mean", Tensor(DType::f32, {3}), 0.9);
  store.ensure_slots(*Adam().rule);
  ASSERT_EQ(store.get("kernel").slots.size(), 2u);
  EXPECT_EQ(store.get("kernel").slots[1].shape(), (Shape{2, 3}));
  EXPECT_TRUE(store.get("mean").slots.empty());
}

TEST(VariableStore, SlotsAreKeptUnlessTheRuleHasOthers) {
  VariableStore store;
  store.add("kernel", Tensor(DType::f32, {2}));
  store.ensure_slots(*momentum().rule);
  store.get("kernel").slots[0].f32()[0] = 7;
  store.ensure_slots(*momentum().rule);
  EXPECT_EQ(store.get("kernel").slots[0].f32()[0], 7);
  store.ensure_slots(*Adam().rule);
  EXPECT_EQ(store.get("kernel").slots[0].f32()[0], 0);
  ASSERT_EQ(store.get("kernel").slots.size(), 2u);
  store.ensure_slots(*SGD().rule);
  EXPECT_TRUE(store.get("kernel").slots.empty());
}

TEST(VariableStore, SlotsCanBeDropped) {
  VariableStore store;
  store.add("kernel", Tensor(DType::f32, {2}));
  store.ensure_slots(*momentum().rule);
  store.get("kernel").slots[0].f32()[0] = 7;
  store.drop_slots();
  EXPECT_TRUE(store.get("kernel").slots.empty());
  store.ensure_slots(*momentum().rule);
  EXPECT_EQ(store.get("kernel").slots.at(0).f32()[0], 0);
}

uint16_t half_at(const Tensor& tensor, size_t index) {
  return reinterpret_cast<const uint16_t*>(tensor.data())[index];
}

TEST(VariableStore, ConvertsWeightsAndSlotsButNoStatistics) {
  VariableStore store;
  store.add("kernel", Tensor::of_f32({3}, {1.0004F, 1e6F, -1e6F}));
  store.add("mean", Tensor::of_f32({1}, {1.0004F}), 0.9);
  store.ensure_slots(*momentum().rule);
  store.get("kernel").slots[0].f32()[0] = 0.5F;
  store.convert(DType::f16);
  const Variable& kernel = store.get("kernel");
  ASSERT_EQ(kernel.value.dtype(), DType::f16);
  EXPECT_EQ(half_at(kernel.value, 0), to_f16(1.0F));
  EXPECT_EQ(half_at(kernel.value, 1), to_f16(65504));  // saturates
  EXPECT_EQ(half_at(kernel.value, 2), to_f16(-65504));
  ASSERT_EQ(kernel.slots[0].dtype(), DType::f16);
  EXPECT_EQ(half_at(kernel.slots[0], 0), to_f16(0.5F));
  EXPECT_EQ(store.get("mean").value.f32()[0], 1.0004F);
  store.convert(DType::f32);
  EXPECT_EQ(kernel.value.f32()[0], 1.0F);
  EXPECT_EQ(kernel.value.f32()[1], 65504.0F);
  EXPECT_EQ(kernel.slots[0].dtype(), DType::f32);
}

// Squares of small gradients are below the smallest number of f16; bf16 has the range of f32.
TEST(VariableStore, SlotsOfSquaresAreF32BesideF16) {
  const std::vector<std::pair<Optimizer, std::vector<bool>>> rules = {
      {momentum(), {false}},      {LARS(), {false}},   {Adam(), {false, true}},
      {AdamW(), {false, true}},   {RMSprop(), {true}}, {RMSprop({.momentum = 0.9}), {true, false}},
      {Adadelta(), {true, true}},
  };
  for (const auto& [optimizer, squares] : rules) {
    const UpdateRule& rule = *optimizer.rule;
    VariableStore store;
    const Variable& kernel = store.add("kernel", Tensor(DType::f32, {2}));
    store.ensure_slots(rule);
    ASSERT_EQ(kernel.slots.size(), squares.size()) << rule.name();
    for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
      store.convert(type);
      for (size_t i = 0; i < squares.size(); ++i) {
        const DType wanted = squares[i] && type == DType::f16 ? DType::f32 : type;
        EXPECT_EQ(kernel.slots[i].dtype(), wanted) << rule.name() << i << to_string(type);
        EXPECT_EQ(slot_type(rule.slots()[i], type), wanted) << rule.name() << i << to_string(type);
      }
    }
    store.convert(DType::f16);
    store.drop_slots();
    store.ensure_slots(rule);
    EXPECT_EQ(kernel.slots[0].dtype(), squares[0] ? DType::f32 : DType::f16) << rule.name();
  }
}

TEST(AssignNumbers, GoesBetweenAllFloatingPointTypes) {
  const Tensor from = Tensor::of_f32({2}, {1.5F, -3.0F});
  for (const DType first : {DType::f16, DType::bf16}) {
    for (const DType second : {DType::f32, DType::f16, DType::bf16}) {
      Tensor half(first, {2});
      assign_numbers(from, half);
      Tensor to(second, {2});
      assign_numbers(half, to);
      EXPECT_EQ(cast(to, DType::f32).f32()[0], 1.5F) << to_string(first) << to_string(second);
      EXPECT_EQ(cast(to, DType::f32).f32()[1], -3.0F) << to_string(first) << to_string(second);
    }
  }
  Tensor other(DType::f32, {3});
  EXPECT_THROW(assign_numbers(from, other), InternalError);
}

}  // namespace
}  // namespace pando::runtime
