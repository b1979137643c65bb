#include "pando/data/sources/functions.h"

#include <gtest/gtest.h>

#include "tests/data/counting.h"

namespace pando {
namespace {

Sample square_of(int64_t i) {
  return {{Tensor::of_f32({1}, {static_cast<float>(i * i)}),
           Tensor::of_i32({}, {static_cast<int32_t>(i)})}};
}

TEST(Functions, MakesSamplesFromTheIndex) {
  const Dataset set = Dataset::from_function(5, square_of);
  EXPECT_EQ(to_string(set.fields()), "x f32[1], y i32[]");
  EXPECT_EQ(set.get(3).x().f32()[0], 9.0f);
  EXPECT_EQ(labels(set), up_to(5));
  EXPECT_EQ(Dataset::from_function(0, square_of).size(), 0);
  EXPECT_THROW(Dataset::from_function(-1, square_of), InvalidArgument);
}

TEST(Functions, SamplesMustAgree) {
  const Dataset set =
      Dataset::from_function(5, [](int64_t i) { return Sample{{Tensor(DType::f32, {i + 1})}}; });
  EXPECT_EQ(set.get(0).x().elements(), 1);
  EXPECT_THROW(set.get(1), InvalidArgument);
}

TEST(Functions, GeneratedSamplesStartAtZero) {
  const std::vector<Field> fields = {{"x", DType::f32, {2}}, {"y", DType::i32, {}}};
  const Dataset set = Dataset::generate(4, fields, [](const SampleView& sample) {
    if (sample.index() % 2 == 0) sample.f32(0)[1] = 5;
    sample.i32(1)[0] = static_cast<int32_t>(10 * sample.epoch() + sample.index());
  });
  std::vector<Tensor> used;
  used.push_back(Tensor::of_f32({1, 2}, {8, 8}));
  used.push_back(Tensor::of_i32({1}, {8}));
  set.gather(std::vector<int64_t>{1}, used, 3);
  EXPECT_EQ(used[0].f32()[0], 0.0f);
  EXPECT_EQ(used[0].f32()[1], 0.0f);
  EXPECT_EQ(used[1].i32()[0], 31);
  EXPECT_EQ(set.get(2).x().f32()[1], 5.0f);
}

}  // namespace
}  // namespace pando
