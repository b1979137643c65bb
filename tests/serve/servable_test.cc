#include "pando/serve/servable.h"

#include <gtest/gtest.h>

namespace pando::serve {
namespace {

class FakeServable : public Servable {
 public:
  FakeServable(std::vector<TensorInfo> inputs, bool pictures) {
    inputs_ = std::move(inputs);
    network_inputs_ = inputs_;
    max_request_samples_ = 8;
    if (pictures) {
      facts_.pictures = PicturePreparation{.height = 4, .width = 4, .short_side = 4};
      inputs_[0] = {inputs_[0].name, ElementType::bytes, {-1}};
    }
  }
};

TEST(Servable, FindsInputsByName) {
  const FakeServable one({{"x", ElementType::f32, {-1, 4}}}, false);
  EXPECT_EQ(one.find_input("")->name, "x");
  EXPECT_EQ(one.find_input("x")->name, "x");
  EXPECT_EQ(one.find_input("y"), nullptr);
  const FakeServable two({{"x", ElementType::f32, {-1}}, {"y", ElementType::f32, {-1}}}, false);
  EXPECT_EQ(two.find_input(""), nullptr);
  EXPECT_EQ(two.find_input("y")->name, "y");
}

TEST(Servable, AcceptsWhatItCanPrepare) {
  const std::vector<int64_t> shape = {-1, 4, 4, 3};
  const FakeServable pictures({{"x", ElementType::f32, shape}}, true);
  const TensorInfo& input = pictures.inputs()[0];
  EXPECT_EQ(input.type, ElementType::bytes);
  EXPECT_EQ(pictures.accepted_shape(input, ElementType::bytes), (std::vector<int64_t>{-1}));
  EXPECT_EQ(pictures.accepted_shape(input, ElementType::u8), shape);
  EXPECT_EQ(pictures.accepted_shape(input, ElementType::f32), shape);
  EXPECT_EQ(pictures.accepted_shape(input, ElementType::i32), std::nullopt);
  EXPECT_EQ(pictures.accepted_shape({.name = "z"}, ElementType::f32), std::nullopt);
  const FakeServable numbers({{"x", ElementType::f32, shape}}, false);
  EXPECT_EQ(numbers.accepted_shape(numbers.inputs()[0], ElementType::f32), shape);
  EXPECT_EQ(numbers.accepted_shape(numbers.inputs()[0], ElementType::u8), std::nullopt);
  EXPECT_EQ(numbers.accepted_shape(numbers.inputs()[0], ElementType::bytes), std::nullopt);
}

TEST(Servable, TakesShapesOfItsInputs) {
  const FakeServable model({{"x", ElementType::f32, {-1, 4}}}, false);
  const TensorInfo& input = model.inputs()[0];
  EXPECT_TRUE(model.takes(input, ElementType::f32, {8, 4}));
  EXPECT_FALSE(
      model.takes(input, ElementType::f32, {9, 4}));  // more samples than a request may have
  EXPECT_FALSE(model.takes(input, ElementType::f32, {0, 4}));
  EXPECT_FALSE(model.takes(input, ElementType::f32, {8, 5}));
  EXPECT_FALSE(model.takes(input, ElementType::f32, {8, 4, 1}));
  EXPECT_FALSE(model.takes(input, ElementType::f32, {}));
  EXPECT_FALSE(model.takes(input, ElementType::i32, {8, 4}));
}

TEST(Servable, NamesItsTypes) {
  EXPECT_EQ(to_string(ElementType::bf16), "bf16");
  EXPECT_EQ(to_string(element_type(DType::i32)), "i32");
  EXPECT_EQ(size_of(ElementType::f16), 2u);
  EXPECT_EQ(size_of(ElementType::bytes), 0u);
  EXPECT_EQ(to_string(InputKind::images), "images");
}

}  // namespace
}  // namespace pando::serve
