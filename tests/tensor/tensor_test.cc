#include "pando/tensor/tensor.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace pando {
namespace {

TEST(Tensor, StartsAtZeroAndIsAligned) {
  Tensor tensor(DType::f32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  for (const float value : tensor.f32()) EXPECT_EQ(value, 0.0f);
}

TEST(Tensor, CopyIsIndependent) {
  Tensor a = Tensor::of_f32({2}, {1, 2});
  Tensor b = a;
  b.f32()[0] = 9;
  EXPECT_EQ(a.f32()[0], 1.0f);
  EXPECT_THROW(a.i32(), InvalidArgument);
}

TEST(Tensor, RowsAndReshape) {
  const Tensor a = Tensor::of_f32({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(a.rows(1, 3).f32()[0], 3.0f);
  EXPECT_EQ(a.reshaped({6}).shape(), Shape{6});
  EXPECT_THROW(a.reshaped({5}), InvalidArgument);
  EXPECT_THROW(a.rows(2, 4), InvalidArgument);
  EXPECT_THROW(Tensor::of_f32({2}, {1}), InvalidArgument);
}

TEST(Tensor, CastsThroughEveryType) {
  const Tensor a = Tensor::of_f32({3}, {0, 1.5f, 250});
  EXPECT_EQ(cast(a, DType::u8).u8()[1], 1);
  EXPECT_EQ(cast(a, DType::u8).u8()[2], 250);
  EXPECT_EQ(cast(cast(a, DType::f16), DType::f32).f32()[1], 1.5f);
  EXPECT_EQ(cast(cast(a, DType::bf16), DType::f32).f32()[2], 250.0f);
  EXPECT_EQ(cast(a, DType::i32).i32()[1], 1);
}

TEST(Tensor, DifferenceKeepsNaN) {
  const Tensor a = Tensor::of_f32({2}, {1, 2});
  const Tensor b = Tensor::of_f32({2}, {1, 2.5f});
  EXPECT_DOUBLE_EQ(difference(a, b).absolute, 0.5);
  const Tensor c = Tensor::of_f32({2}, {std::numeric_limits<float>::quiet_NaN(), 2});
  EXPECT_TRUE(std::isnan(difference(a, c).absolute));
}

}  // namespace
}  // namespace pando
