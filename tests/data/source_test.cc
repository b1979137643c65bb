#include "pando/data/source.h"

#include <array>

#include <gtest/gtest.h>

namespace pando {
namespace {

class Nothing : public DataSource {
 public:
  Nothing(std::vector<Field> fields, int64_t size) : DataSource(std::move(fields), size) {}
  void gather(int64_t, std::span<int64_t>, const Rows&) const override {}
};

TEST(Source, DescribesItsFields) {
  const Field x{"x", DType::f32, {28, 28, 1}};
  EXPECT_EQ(to_string(x), "x f32[28,28,1]");
  EXPECT_EQ(bytes_per_sample(x), 28u * 28 * 4);
  EXPECT_EQ(to_string(std::vector<Field>{x, {"y", DType::i32, {}}}), "x f32[28,28,1], y i32[]");
}

TEST(Source, RefusesFieldsThatAreNone) {
  EXPECT_THROW(Nothing({}, 1), InvalidArgument);
  EXPECT_THROW(Nothing({{"x"}, {"x"}}, 1), InvalidArgument);
  EXPECT_THROW(Nothing({{"x"}}, -1), InvalidArgument);
  EXPECT_THROW(Nothing({{"x", DType::f32, {-2}}}, 1), InvalidArgument);
  EXPECT_FALSE(Nothing({{"x"}, {"y"}}, 0).order_varies());
}

TEST(Source, SampleViewChecksFieldAndType) {
  const std::vector<Field> fields = {{"x", DType::f32, {2}}, {"y", DType::i32, {}}};
  std::array<float, 6> x = {0, 1, 2, 3, 4, 5};
  std::array<int32_t, 3> y = {7, 8, 9};
  const std::array<std::byte*, 2> first = {reinterpret_cast<std::byte*>(x.data()),
                                           reinterpret_cast<std::byte*>(y.data())};
  const SampleView view(fields, Rows(first).from(1), 1, {.epoch = 4, .index = 5});
  EXPECT_EQ(view.f32(0)[1], 5.0f);
  EXPECT_EQ(view.i32(1)[0], 9);
  EXPECT_EQ(view.epoch(), 4);
  EXPECT_EQ(view.index(), 5);
  EXPECT_EQ(view.fields().size(), 2u);
  EXPECT_THROW(view.f32(1), InvalidArgument);
  EXPECT_THROW(view.u8(2), InvalidArgument);
}

}  // namespace
}  // namespace pando
