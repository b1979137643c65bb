// Half precision: the weights and states that models keep, return and accept.
// SPDX-License-Identifier: MIT
#include "pando/tensor/precision.h"

#include "pando/runtime/machine/fp_exceptions.h"
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
  EXPECT_SAYS(error_of([&] { half.set_weights(weights); }), "expected f16");
}

TEST(ModelPrecision, TypesThatDoNotGoTogetherAreAnError) {
  Model model(small_cnn());
  EXPECT_SAYS(error_of([&] { model.compile(precise({DType::f32, DType::f16})); }), "precision");
  EXPECT_SAYS(error_of([&] { model.compile(precise({DType::bf16, DType::f16})); }), "bf16.16");
}

// Weights of every precision can be loaded into a model of every precision.
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

TEST(ModelPrecision, WeightsBeyondTheRangeOfF16AreTold) {
  const TempFolder folder;
  Model full = compiled(small_cnn(), precise({}), 5);
  std::vector<Tensor> weights = full.get_weights();
  weights[0].f32()[0] = 70000;
  weights[0].f32()[1] = -1e6F;
  weights[1].f32()[0] = 65504;
  const LoadReport fits = full.set_weights(weights);
  EXPECT_TRUE(fits.out_of_range.empty());
  full.save_weights(folder.path("large.h5"));
  Model half = compiled(small_cnn(), precise(kHalf), 5);
  const std::vector<std::string> told = {
      concat("2 weights of '", half.weight_names()[0],
             "' are beyond the range of f16, up to -1e+06, and became -65504")};
  EXPECT_EQ(half.set_weights(weights).out_of_range, told);
  EXPECT_EQ(half.load_weights(folder.path("large.h5")).out_of_range, told);
  EXPECT_EQ(half.restore(full.training_state()).out_of_range, told);
  weights[0].f32()[1] = 0;
  EXPECT_SAYS(half.set_weights(weights).out_of_range.at(0), "1 weight of '");
}

class HalfTraining : public testing::TestWithParam<std::string> {
 protected:
  Precision precision() const { return parse_precision(GetParam()); }
  CompileOptions options() const { return precise(precision()); }
};

TEST_P(HalfTraining, LearnsAndPredictsInF32) {
  Model model = compiled(rich_cnn(), options(), 5);
  const Logs before = model.evaluate(image_data(48));
  model.fit(image_data(48), {.epochs = 8, .batch_size = 8, .verbose = 0});
  const Logs after = model.evaluate(image_data(48));
  EXPECT_LT(value_of(after, "loss"), 0.7 * value_of(before, "loss"));
  const Tensor predicted = model.predict(images(5).x);
  EXPECT_EQ(predicted.dtype(), DType::f32);
  EXPECT_NEAR(predicted.f32()[0] + predicted.f32()[1] + predicted.f32()[2], 1, 0.02);
  EXPECT_EQ(model.get_weights()[0].dtype(), precision().update);
}

TEST_P(HalfTraining, OnlyTrainingRoundsStochastically) {
  CompileOptions nearest = options();
  nearest.half.stochastic_rounding = StochasticRounding::off;
  Model random = compiled(rich_cnn(), options(), 5);
  Model plain = compiled(rich_cnn(), nearest, 5);
  EXPECT_EQ(random.evaluate(image_data(12)), plain.evaluate(image_data(12)));
  EXPECT_TRUE(same_bits(random.predict(images(5).x), plain.predict(images(5).x)));
  for (Model* model : {&random, &plain}) {
    model->fit(image_data(24), {.batch_size = 8, .verbose = 0});
  }
  EXPECT_FALSE(same_weights(random, plain));
}

TEST_P(HalfTraining, IsVerifiedAndReported) {
  Model model = compiled(rich_cnn(), options());
  const std::vector<Field> fields = image_data(4).fields();
  const Verification verification = model.verify(6, fields);
  EXPECT_TRUE(verification.ok) << verification.table;
  const std::string report = model.compile_report(8, fields);
  EXPECT_SAYS(report, "precision: " + GetParam() + ", stochastic rounding");
  EXPECT_SAYS(report, concat(" of ", to_string(precision().compute), " ("));
  EXPECT_SAYS(model.summary(), concat(" as ", to_string(precision().update), ": "));
}

TEST_P(HalfTraining, GoesOnBitForBit) {
  const TempFolder folder;
  const auto fit = [](Model& model, int64_t from, int64_t to) {
    model.fit(image_data(44), {.epochs = to,
                               .batch_size = 8,
                               .carry_remainder = true,
                               .initial_epoch = from,
                               .verbose = 0});
  };
  Model whole = compiled(rich_cnn(), options(), 3);
  fit(whole, 0, 3);
  Model before = compiled(rich_cnn(), options(), 3);
  fit(before, 0, 2);
  save_training_state(folder.path("a.h5"), before.training_state());
  Model after = compiled(rich_cnn(), options(), 3);
  after.restore(load_training_state(folder.path("a.h5")));
  EXPECT_TRUE(same_weights(after, before));
  fit(after, 2, 3);
  EXPECT_TRUE(same_weights(after, whole));
}

INSTANTIATE_TEST_SUITE_P(Precisions, HalfTraining,
                         testing::Values("16.16", "16.32", "bf16.16", "bf16.32"),
                         [](const auto& precision) {
                           std::string name = precision.param;
                           name.replace(name.find('.'), 1, "_");
                           return name;
                         });

TEST(ModelPrecision, AStateGoesToAModelOfAnotherPrecision) {
  Model half = compiled(rich_cnn(), precise(kHalf), 3);
  half.fit(image_data(24), {.batch_size = 8, .verbose = 0});
  Model wide = compiled(rich_cnn(), precise({}), 3);
  wide.restore(half.training_state());
  for (size_t i = 0; i < wide.get_weights().size(); ++i) {
    EXPECT_TRUE(same_bits(wide.get_weights()[i], cast(half.get_weights()[i], DType::f32)));
  }
  const TrainingState widened = wide.training_state();
  EXPECT_EQ(widened.weights.state.at(0).value.dtype(), DType::f32);
  Model again = compiled(rich_cnn(), precise(kHalf), 3);
  again.restore(widened);
  EXPECT_TRUE(same_weights(again, half));
}

// Squares are f32 beside f16 weights, in memory and in a state; a state of halves fits too.
TEST(ModelPrecision, AStateKeepsTheSquaresOfGradients) {
  const auto with_adam = [](Precision precision) {
    CompileOptions options = precise(precision);
    options.optimizer = Adam();
    return compiled(rich_cnn(), options, 3);
  };
  Model wide = with_adam({});
  wide.fit(image_data(24), {.batch_size = 8, .verbose = 0});
  const TrainingState state = wide.training_state();
  Model half = with_adam(kHalf);
  half.restore(state);
  TrainingState narrowed = half.training_state();
  ASSERT_EQ(narrowed.weights.state.size(), state.weights.state.size());
  for (size_t i = 0; i < state.weights.state.size(); ++i) {
    store::NamedWeight& slot = narrowed.weights.state[i];
    if (slot.name.starts_with("optimizer/v/")) {
      EXPECT_TRUE(same_bits(slot.value, state.weights.state[i].value)) << slot.name;
      slot.value = cast(slot.value, DType::f16);
    } else {
      EXPECT_EQ(slot.value.dtype(), DType::f16) << slot.name;
    }
  }
  half.restore(narrowed);
  for (const store::NamedWeight& slot : half.training_state().weights.state) {
    const bool squares = slot.name.starts_with("optimizer/v/");
    EXPECT_EQ(slot.value.dtype(), squares ? DType::f32 : DType::f16) << slot.name;
  }
}

TEST(ModelPrecision, TrainsOnAfterAChange) {
  Model model = compiled(small_cnn(), precise(kHalf), 3);
  model.fit(image_data(24), {.batch_size = 8, .verbose = 0});
  model.compile(precise({}));
  const Logs before = model.evaluate(image_data(24));
  model.fit(image_data(24), {.epochs = 3, .batch_size = 8, .verbose = 0});
  EXPECT_LT(value_of(model.evaluate(image_data(24)), "loss"), value_of(before, "loss"));
}

TEST(ModelPrecision, FloatingPointExceptionsEndTraining) {
  CompileOptions options = precise(kHalf);
  options.optimizer = SGD({.learning_rate = 1e9});
  options.fp_exceptions = true;
  Model model = compiled(small_cnn(), options);
  EXPECT_SAYS(error_of<runtime::FloatingPointError>(
                  [&] { model.fit(image_data(24), {.batch_size = 8, .verbose = 0}); }),
              "overflow");
  options.fp_exceptions = false;
  model.compile(options);
  model.fit(image_data(8), {.batch_size = 8, .verbose = 0});  // saturates
}

TEST(ModelPrecision, SplitsAreMeasuredInHalf) {
  const Model model = compiled(rich_cnn(), precise(kHalf));
  EXPECT_EQ(model.measure_pipeline_splits(2, image_data(32), 4).splits.size(), 1u);
}

}  // namespace
}  // namespace pando
