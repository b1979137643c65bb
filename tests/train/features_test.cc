// Features that are computed once, new heads, rates of single layers.
// SPDX-License-Identifier: MIT
#include "pando/train/features.h"

#include <algorithm>
#include <filesystem>

#include "pando/zoo/zoo.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

using testing_support::error_of;

// Convolutions with batch normalisation and a residual, which inference folds.
Network normalised_residual() {
  const SymbolicTensor input = Input({6, 6, 2});
  const SymbolicTensor stem = BatchNormalization({.name = "norm"})(
      Conv2D({.filters = 4, .kernel = {3, 3}, .padding = "same", .name = "stem"})(input));
  const SymbolicTensor inner =
      BatchNormalization({.name = "norm2"})(Conv2D({.filters = 4, .name = "inner"})(stem));
  const SymbolicTensor sum =
      Activation("relu", {.name = "out"})(Add({.name = "sum"})({stem, inner}));
  const SymbolicTensor pool = GlobalAveragePooling2D({.name = "pool"})(sum);
  const SymbolicTensor drop = Dropout({.rate = 0.4, .name = "drop"})(pool);
  return Network(input, Dense({.units = 3, .activation = "softmax", .name = "last"})(drop));
}

Dataset some_data(int64_t count) {
  Tensor x(DType::f32, {count, 6, 6, 2});
  Tensor y(DType::i32, {count});
  for (size_t i = 0; i < x.f32().size(); ++i) x.f32()[i] = static_cast<float>(i * 7 % 23) / 23;
  for (size_t i = 0; i < y.i32().size(); ++i) y.i32()[i] = static_cast<int32_t>(i % 3);
  return Dataset::from_tensors(std::move(x), std::move(y));
}

Model frozen_model() {
  Model model(normalised_residual(), {.seed = 3});
  model.compile({.optimizer = Adam(),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .execution = {.slices = 2}});
  model.fit(some_data(40), {.epochs = 1, .batch_size = 8, .verbose = 0});  // moves statistics
  for (const char* layer : {"stem", "norm", "inner", "norm2", "sum", "out", "pool"}) {
    model.set_trainable(layer, false);
  }
  return model;
}

std::vector<float> all_numbers(const Model& model) {
  std::vector<float> numbers;
  for (const Tensor& weight : model.get_weights()) {
    numbers.insert(numbers.end(), weight.f32().begin(), weight.f32().end());
  }
  return numbers;
}

TEST(Features, TrainTheLayersBehindBitForBit) {
  const Dataset data = some_data(37);
  const FitOptions fit{.epochs = 4, .batch_size = 8, .verbose = 0};
  Model whole = frozen_model();
  const History expected = whole.fit(data, fit);
  const Logs loss = whole.evaluate(data, {.batch_size = 8});
  const testing_support::TempFolder folder;
  for (const std::string& file : std::vector<std::string>{"", "features"}) {
    Model model = frozen_model();
    const std::string path = file.empty() ? "" : folder.path(file);
    const Dataset train = model.features(data, {.layer = "pool", .batch_size = 8, .file = path});
    const Dataset test = model.features(
        data, {.layer = "pool", .mode = RunMode::evaluate, .batch_size = 8, .file = path});
    EXPECT_EQ(train.fields()[0].shape, (Shape{4}));
    EXPECT_EQ(train.get(11).y().i32()[0], data.get(11).y().i32()[0]);
    EXPECT_FALSE(std::filesystem::exists(path));
    model.start_from("pool");
    EXPECT_EQ(model.fit(train, fit).values.at("loss"), expected.values.at("loss"));
    EXPECT_EQ(model.evaluate(test, {.batch_size = 8}), loss);
    EXPECT_EQ(all_numbers(model), all_numbers(whole));
    model.start_from("");
    EXPECT_EQ(model.evaluate(data, {.batch_size = 8}), loss);
  }
}

TEST(Features, RefuseLayersThatOthersPass) {
  Model model = frozen_model();
  const Dataset data = some_data(8);
  EXPECT_SAYS(error_of([&] { model.features(data, {.layer = "inner"}); }), "inner", "every path");
  EXPECT_SAYS(error_of([&] { model.start_from("norm2"); }), "norm2");
  EXPECT_SAYS(error_of([&] { model.features(data, {.layer = "pool", .mode = RunMode::predict}); }),
              "predict");
  const std::string nowhere = "/nonexistent/features";
  EXPECT_SAYS(error_of<IoError>([&] {
                model.features(data, {.layer = "pool", .batch_size = 8, .file = nowhere});
              }),
              nowhere, "cannot create");
}

TEST(Features, PartsAndNewHeadsKeepWhatIsFrozen) {
  Model model = frozen_model();
  for (const char* layer : {"stem", "last"}) model.set_trainable(layer, false);
  const Model other = model.with_head({.units = 5});
  EXPECT_FALSE(other.trainable("stem"));
  EXPECT_TRUE(other.trainable("last"));
  EXPECT_FALSE(model.until("stem").trainable("stem"));
  model.set_trainable("stem", true);
  EXPECT_TRUE(model.until("stem").trainable("stem"));
}

TEST(Features, NewHeadKeepsTheOtherWeights) {
  const Model model = frozen_model();
  const Model other = model.with_head({.units = 5});
  EXPECT_EQ(other.get_weight("last/kernel").shape(), (Shape{4, 5}));
  EXPECT_TRUE(std::ranges::equal(other.get_weight("stem/kernel").f32(),
                                 model.get_weight("stem/kernel").f32()));
  // A head of the same size is a new one too.
  EXPECT_FALSE(std::ranges::equal(model.with_head({.units = 3}).get_weight("last/kernel").f32(),
                                  model.get_weight("last/kernel").f32()));
  EXPECT_SAYS(error_of([&] {
                Model copy = model;
                copy.copy_weights(model, {.except = {"last"}});
              }),
              "by_name");
}

// A step of gradient descent is as long as the rate of its layer.
TEST(Features, LayersLearnAtTheirOwnRates) {
  const auto change_of = [](double factor, const std::string& name) {
    Model model(normalised_residual(), {.seed = 3});
    model.compile({.optimizer = with_layer_rates(SGD({.learning_rate = 0.01}), {{"last", factor}}),
                   .loss = "sparse_categorical_crossentropy"});
    const Tensor before = model.get_weight(name);
    std::vector<float> start(before.f32().begin(), before.f32().end());
    model.fit(some_data(8), {.batch_size = 8, .verbose = 0});
    return static_cast<double>(model.get_weight(name).f32()[1]) - static_cast<double>(start[1]);
  };
  EXPECT_NEAR(change_of(10, "last/bias"), 10 * change_of(1, "last/bias"), 1e-6);
  EXPECT_EQ(change_of(10, "stem/kernel"), change_of(1, "stem/kernel"));
  EXPECT_EQ(change_of(0, "last/bias"), 0);
}

}  // namespace
}  // namespace pando
