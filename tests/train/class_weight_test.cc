// SPDX-License-Identifier: MIT
#include "tests/train/two_by_two.h"

namespace pando {
namespace {

TEST(ClassWeight, IsAWeightOfSamples) {
  const Images all = images(24);
  Tensor weights(DType::f32, {24});
  for (size_t i = 0; i < 24; ++i) {
    weights.f32()[i] = all.y.i32()[i] == 1 ? 3.0f : all.y.i32()[i] == 2 ? 0.0f : 1.0f;
  }
  FitOptions by_class = plain_fit(2);
  by_class.class_weight = {{1, 3}, {2, 0}};
  Model a = compiled(small_cnn(), classifier()), b = compiled(small_cnn(), classifier());
  a.fit(all.x, all.y, by_class);
  b.fit(all.x, all.y, weights, plain_fit(2));
  EXPECT_TRUE(same_bits(a.get_weights(), b.get_weights()));
  by_class.class_weight = {{3, 1}};
  EXPECT_SAYS(error_of([&] { a.fit(all.x, all.y, by_class); }), "class_weight", "0 to 2", "got 3");
  for (const double wrong : {-1.0, 1e39}) {
    by_class.class_weight = {{1, wrong}};
    EXPECT_SAYS(error_of([&] { a.fit(all.x, all.y, by_class); }), "class 1", concat("got ", wrong));
  }
}

// The weights of each output by its classes, or none, beside weights of samples for all outputs.
TEST(ClassWeight, OfOneOutputOfSeveral) {
  const FieldRows rows = field_rows(24);
  Tensor given(DType::f32, {24}), kinds(DType::f32, {24});
  for (size_t i = 0; i < 24; ++i) {
    given.f32()[i] = i == 5 ? 0.0f : 0.5f + 0.1f * static_cast<float>(i);
    const int32_t kind = rows.seen.y.i32()[i];
    kinds.f32()[i] = given.f32()[i] * (kind == 1 ? 3.0f : kind == 2 ? 0.0f : 1.0f);
  }
  const auto trained = [&](std::vector<std::pair<std::string, Tensor>> weights, FitOptions fit) {
    std::vector<std::pair<std::string, Tensor>> fields = {{"picture", rows.seen.x},
                                                          {"numbers", rows.numbers},
                                                          {"kind", rows.seen.y},
                                                          {"amount", rows.amount}};
    fields.insert(fields.end(), weights.begin(), weights.end());
    Model model = compiled(two_by_two(), both_losses());
    model.fit(Dataset::from_fields(std::move(fields)), fit);
    return model.get_weights();
  };
  FitOptions by_class = plain_fit(2);
  by_class.class_weight = {{"kind", {{1, 3}, {2, 0}}}};
  EXPECT_TRUE(
      same_bits(trained({{"sample_weight", given}}, by_class),
                trained({{"sample_weight/kind", kinds}, {"sample_weight", given}}, plain_fit(2))));
  EXPECT_TRUE(same_bits(
      trained({{"sample_weight/kind", given}, {"sample_weight/amount", given}}, by_class),
      trained({{"sample_weight/kind", kinds}, {"sample_weight/amount", given}}, plain_fit(2))));
  by_class.class_weight = {{0, 2}};
  EXPECT_SAYS(error_of([&] { trained({}, by_class); }), "2 outputs", "{{\"kind\", ");
  by_class.class_weight = {{"knd", {{0, 2}}}};
  EXPECT_SAYS(error_of([&] { trained({}, by_class); }), "class_weight", "'knd'", "kind");
  by_class.class_weight = {{"amount", {{0, 2}}}};
  EXPECT_SAYS(error_of([&] { trained({}, by_class); }), "output 'amount'", "0 or 1");
}

TEST(ClassWeight, OfOneNumber) {
  const Images all = images(24);
  Tensor labels(DType::f32, {24, 1}), weights(DType::f32, {24});
  for (size_t i = 0; i < 24; ++i) {
    labels.f32()[i] = all.y.i32()[i] == 1 ? 1.0f : 0.0f;
    weights.f32()[i] = all.y.i32()[i] == 1 ? 4.0f : 1.0f;
  }
  const SymbolicTensor picture = Input({6, 6, 1});
  const Network network(picture, Dense({.units = 1, .activation = "sigmoid"})(Flatten()(picture)));
  const CompileOptions options{.loss = "binary_crossentropy"};
  Model a = compiled(network, options), b = compiled(network, options);
  FitOptions by_class = plain_fit(2);
  by_class.class_weight = {{1, 4}};
  a.fit(all.x, labels, by_class);
  b.fit(all.x, labels, weights, plain_fit(2));
  EXPECT_TRUE(same_bits(a.get_weights(), b.get_weights()));
  const Network pixels(picture, Conv2D({.filters = 2, .kernel = {1, 1}, .name = "map"})(picture));
  EXPECT_SAYS(error_of([&] { compiled(pixels, {.loss = "mse"}).fit(all.x, all.x, by_class); }),
              "output 'map'", "number per class", "[6,6,2]");
}

}  // namespace
}  // namespace pando
