#include "pando/data/sources/arrays.h"

#include <gtest/gtest.h>

#include "tests/data/counting.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

TEST(Arrays, FieldsFollowTheTensors) {
  const Dataset set = Dataset::from_tensors(Tensor(DType::f32, {4, 3}), Tensor(DType::i32, {4}),
                                            Tensor(DType::f32, {4}));
  EXPECT_EQ(set.size(), 4);
  EXPECT_EQ(to_string(set.fields()), "x f32[3], y i32[], sample_weight f32[]");
  EXPECT_EQ(Dataset::from_tensors(Tensor(DType::u8, {2, 5})).fields()[0].shape, Shape{5});
}

TEST(Arrays, DifferentNumbersOfSamplesNameBothArrays) {
  try {
    Dataset::from_tensors(Tensor(DType::f32, {4, 3}), Tensor(DType::i32, {5}));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_SAYS(error.what(), "array", "'y'", "5 samples", "[5]", "'x'", "[4,3]");
  }
  EXPECT_THROW(Dataset::from_tensors(Tensor(DType::f32, Shape{})), InvalidArgument);
  EXPECT_THROW(from_arrays({}), InvalidArgument);
}

TEST(Arrays, BytesAreScaledWhenGathered) {
  Tensor bytes(DType::u8, {2, 300});
  for (size_t i = 0; i < 600; ++i) bytes.u8()[i] = static_cast<uint8_t>(i);
  std::vector<ArrayField> arrays;
  arrays.push_back({.name = "x", .values = bytes, .scale = 1.0f / 255.0f});
  const Dataset set = from_arrays(std::move(arrays));
  EXPECT_EQ(to_string(set.fields()), "x f32[300]");
  const Tensor x = set.get(1).x();
  for (size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(x.f32()[i], static_cast<float>((i + 300) % 256) * (1.0f / 255.0f));
  }
}

TEST(Arrays, OnlyBytesAreScaled) {
  std::vector<ArrayField> arrays;
  arrays.push_back({.name = "x", .values = Tensor(DType::i32, {2}), .scale = 2.0f});
  EXPECT_THROW(from_arrays(std::move(arrays)), InvalidArgument);
}

}  // namespace
}  // namespace pando
