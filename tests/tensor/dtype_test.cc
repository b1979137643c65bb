#include "pando/tensor/dtype.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "pando/base/error.h"
#include "pando/tensor/half.h"

namespace pando {
namespace {

TEST(DType, NamesRoundTrip) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i32}) {
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  }
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_THROW(parse_dtype("float"), InvalidArgument);
}

TEST(Half, EveryFiniteValueSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (std::isnan(from_f16(half))) continue;
    EXPECT_EQ(to_f16(from_f16(half)), half);
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(from_f16(to_f16(2049.0f)), 2048.0f);  // halfway, down to even
  EXPECT_EQ(from_f16(to_f16(2051.0f)), 2052.0f);  // halfway, up to even
  EXPECT_EQ(from_f16(to_f16(65504.0f)), 65504.0f);
  EXPECT_TRUE(std::isinf(from_f16(to_f16(65520.0f))));
  EXPECT_EQ(from_f16(to_f16(0x1.0p-25f)), 0.0f);
  EXPECT_EQ(from_bf16(to_bf16(1.0f)), 1.0f);
  EXPECT_EQ(from_bf16(to_bf16(1.00390625f)), 1.0f);  // halfway, down to even
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace pando
