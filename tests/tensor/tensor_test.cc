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

TEST(Tensor, MovingLeavesAnEmptyTensorBehind) {
  Tensor a = Tensor::of_f32({2}, {1, 2});
  const std::byte* data = a.data();
  Tensor b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.shape(), Shape{2});
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): this is what is tested
  EXPECT_EQ(a.shape(), Shape{0});
  EXPECT_EQ(a.bytes(), 0u);
  EXPECT_EQ(a.f32().size(), 0u);
  a = std::move(b);
  EXPECT_EQ(a.data(), data);
  EXPECT_EQ(a.elements(), 2);
  EXPECT_TRUE(b.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(b.shape(), Shape{0});
  const Tensor copy = b;
  EXPECT_TRUE(copy.empty());
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

TEST(Tensor, CastsWhatDoesNotFitIntoIntegers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor a =
      Tensor::of_f32({9}, {-3e9f, 3e9f, nan, -1, 256, -1.9f, 2147483520.0f, infinity, -infinity});
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  const int32_t i32[] = {kMin, kMax, 0, -1, 256, -1, 2147483520, kMax, kMin};
  const uint8_t u8[] = {0, 255, 0, 255, 0, 255, 128, 255, 0};
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(cast(a, DType::i32).i32()[i], i32[i]) << a.f32()[i];
    EXPECT_EQ(cast(a, DType::u8).u8()[i], u8[i]) << a.f32()[i];
  }
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
