// What models of half precision keep, give and take.
// SPDX-License-Identifier: MIT
#include "pando/tensor/precision.h"

#include "pando/store/weights_file.h"
#include "pando/train/model.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

constexpr Precision kHalf = {DType::f16, DType::f16};
constexpr Precision kMixed = {DType::f16, DType::f32};
constexpr Precision kBrain = {DType::bf16, DType::bf16};

CompileOptions precise(Precision precision) {
  CompileOptions options = classifier(SGD({.learning_rate = 0.1, .momentum = 0.9}));
  options.precision = precision;
  return options;
}

TEST(ModelPrecision, CompileConvertsTrainedWeights) {
  Model model = compiled(rich_cnn(), precise(kHalf));
  for (const std::string& name : model.weight_names()) {
    const bool is_state = name.find("moving") != std::string::npos;
    EXPECT_EQ(model.get_weight(name).dtype(), is_state ? DType::f32 : DType::f16) << name;
  }
  model.compile(precise(kBrain));
  EXPECT_EQ(model.get_weights()[0].dtype(), DType::bf16);
  model.compile(precise(kMixed));
  EXPECT_EQ(model.get_weights()[0].dtype(), DType::f32);
  model.compile(precise({}));
  EXPECT_EQ(model.get_weights()[0].dtype(), DType::f32);
}

TEST(ModelPrecision, CompileRoundsToNearest) {
  Model wide(small_cnn(), {.seed = 5});
  Model half = compiled(small_cnn(), precise(kHalf), 5);
  const Tensor before = wide.get_weights()[0];
  const Tensor after = half.get_weights()[0];
  const Tensor expected = cast(before, DType::f16);
  EXPECT_EQ(std::memcmp(after.data(), expected.data(), expected.bytes()), 0);
}

TEST(ModelPrecision, SetWeightsTakesAnyFloatingPointType) {
  Model half = compiled(small_cnn(), precise(kHalf));
  std::vector<Tensor> weights = half.get_weights();
  for (Tensor& weight : weights) {
    weight = cast(weight, DType::f32);
    for (float& value : weight.f32()) value = 0.75F;
  }
  half.set_weights(weights);
  EXPECT_EQ(half.get_weights()[0].dtype(), DType::f16);
  EXPECT_EQ(cast(half.get_weights()[0], DType::f32).f32()[0], 0.75F);
  Model wide(small_cnn());
  wide.set_weights(half.get_weights());
  EXPECT_EQ(wide.get_weights()[0].f32()[0], 0.75F);
  weights[0] = Tensor(DType::i32, weights[0].shape());
  EXPECT_SAYS(error_of([&] { half.set_weights(weights); }), "is f16");
}

TEST(ModelPrecision, TypesThatDoNotGoTogetherAreAnError) {
  Model model(small_cnn());
  EXPECT_SAYS(error_of([&] { model.compile(precise({DType::f32, DType::f16})); }), "precision");
  EXPECT_SAYS(error_of([&] { model.compile(precise({DType::bf16, DType::f16})); }), "bf16.16");
}

// Weights of every precision go to a model of every precision.
TEST(ModelPrecision, FilesAreReadAcrossPrecisions) {
  const TempFolder folder;
  for (const Precision from : {Precision{}, kHalf, kBrain}) {
    Model writer = compiled(rich_cnn(), precise(from), 5);
    writer.save_weights(folder.path("a.h5"));
    const store::WeightsFile file = store::read_weights_file(folder.path("a.h5"));
    EXPECT_EQ(file.layers.at(1).weights.at(0).value.dtype(),
              from == kHalf ? DType::f16 : DType::f32)
        << to_string(from);
    for (const Precision to : {Precision{}, kHalf, kBrain}) {
      Model reader = compiled(rich_cnn(), precise(to), 6);
      reader.load_weights(folder.path("a.h5"));
      const Tensor got = reader.get_weights()[0];
      EXPECT_EQ(got.dtype(), to.update);
      EXPECT_TRUE(same_bits(got, cast(writer.get_weights()[0], to.update)))
          << to_string(from) << " to " << to_string(to);
    }
  }
}

}  // namespace
}  // namespace pando
