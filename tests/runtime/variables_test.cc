#include "pando/runtime/variables.h"

#include <gtest/gtest.h>

#include "pando/base/error.h"

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

TEST(VariableStore, SlotsAreForTrainedVariablesOnly) {
  VariableStore store;
  store.add("kernel", Tensor(DType::f32, {2, 3}));
  store.add("mean", Tensor(DType::f32, {3}), 0.9);
  store.ensure_slots(2);
  ASSERT_EQ(store.get("kernel").slots.size(), 2u);
  EXPECT_EQ(store.get("kernel").slots[1].shape(), (Shape{2, 3}));
  EXPECT_TRUE(store.get("mean").slots.empty());
}

TEST(VariableStore, SlotsAreKeptUnlessTheirNumberChanges) {
  VariableStore store;
  store.add("kernel", Tensor(DType::f32, {2}));
  store.ensure_slots(1);
  store.get("kernel").slots[0].f32()[0] = 7;
  store.ensure_slots(1);
  EXPECT_EQ(store.get("kernel").slots[0].f32()[0], 7);
  store.ensure_slots(2);
  EXPECT_EQ(store.get("kernel").slots[0].f32()[0], 0);
  store.ensure_slots(0);
  EXPECT_TRUE(store.get("kernel").slots.empty());
}

}  // namespace
}  // namespace pando::runtime
