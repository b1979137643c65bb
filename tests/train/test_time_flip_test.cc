#include "pando/train/test_time_flip.h"

#include <algorithm>

#include "pando/train/predictor.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

Tensor mirrored(const Tensor& x) {
  Tensor result(DType::f32, x.shape());
  const auto width = static_cast<size_t>(x.shape()[2]);
  for (size_t row = 0; row < x.f32().size(); row += width) {
    std::ranges::reverse_copy(x.f32().subspan(row, width), result.f32().begin() + row);
  }
  return result;
}

Tensor mean_of(const Tensor& a, const Tensor& b) {
  Tensor result(DType::f32, a.shape());
  for (size_t i = 0; i < a.f32().size(); ++i) {
    result.f32()[i] = 0.5f * (a.f32()[i] + b.f32()[i]);
  }
  return result;
}

Model trained_model() {
  Model model = compiled(rich_cnn(), classifier(SGD({.learning_rate = 0.05}), {.slices = 2}));
  model.fit(image_data(60), {.epochs = 2, .batch_size = 10, .verbose = 0});
  return model;
}

TEST(TestTimeFlip, PredictsTheMeanOfBothViews) {
  Model model = trained_model();
  const Images test = images(23, 9);
  const Tensor wanted = mean_of(model.predict(test.x, 8), model.predict(mirrored(test.x), 8));
  model.set_test_time_flip(true);
  const Tensor found = model.predict(test.x, 8);
  EXPECT_LT(difference(found, wanted).absolute, 1e-6);
  EXPECT_LT(difference(found, model.predict(mirrored(test.x), 8)).absolute, 1e-6);
  const Predictor predictor(model, {.max_batch = 8, .workers = 2});
  EXPECT_LT(difference(predictor.run(test.x), wanted).absolute, 1e-6);
  model.set_test_time_flip(false);
  EXPECT_GT(difference(model.predict(test.x, 8), wanted).absolute, 1e-3);
}

TEST(TestTimeFlip, EvaluatesWhatItPredicts) {
  Model model = trained_model();
  const Images test = images(23, 9);
  model.set_test_time_flip(true);
  const Tensor outputs = model.predict(test.x, 8);
  double right = 0;
  for (int64_t i = 0; i < 23; ++i) {
    const auto row = outputs.f32().subspan(static_cast<size_t>(3 * i), 3);
    right += std::ranges::max_element(row) - row.begin() == test.y.i32()[static_cast<size_t>(i)];
  }
  const Logs logs = model.evaluate(test.x, test.y, {.batch_size = 8});
  EXPECT_NEAR(value_of(logs, "accuracy"), right / 23, 1e-6);
}

TEST(TestTimeFlip, TrainingHasTheSameBits) {
  const auto train = [](bool flips) {
    Model model = compiled(rich_cnn(), classifier(SGD(), {.slices = 2}));
    model.set_test_time_flip(flips);
    model.fit(image_data(40), {.batch_size = 10, .validation_data = image_data(20), .verbose = 0});
    return model;
  };
  EXPECT_TRUE(same_weights(train(true), train(false)));
}

TEST(TestTimeFlip, WorksWithStagesAndAuxiliaryInputs) {
  Model model = trained_model();
  const Images test = images(16, 9);
  model.set_test_time_flip(true);
  const Tensor wanted = model.predict(test.x, 8);
  model.set_pipeline_splits({"flatten"});
  EXPECT_LT(difference(model.predict(test.x, 8), wanted).absolute, 1e-6);
  const SymbolicTensor x = Input({6, 6, 1});
  const SymbolicTensor flip = Input({}, {.dtype = DType::u8, .name = "flip", .auxiliary = true});
  const Network network({x, flip}, small_cnn()(FlipWhere()({x, flip})));
  const NetworkGraph built = train::with_test_time_flip(network).build({.batch = 2});
  EXPECT_EQ(built.inputs.size(), 1u);
}

TEST(TestTimeFlip, RefusesNetworksWithoutPicturesOrWithPlaces) {
  const auto refusal = [](const Network& network) {
    return error_of([&] { Model(network).set_test_time_flip(true); });
  };
  EXPECT_SAYS(refusal(Sequential({12}, {Dense({.units = 3})})), "test-time flip",
              "[height, width, channels]", "samples of shape [12]");
  EXPECT_SAYS(refusal(Sequential({6, 6, 1}, {Conv2D({.filters = 2})})), "test-time flip",
              "places in the picture", "an output of shape [6,6,2]");
  const SymbolicTensor a = Input({4, 4, 1}), b = Input({4, 4, 1});
  EXPECT_SAYS(refusal(Network({a, b}, GlobalAveragePooling2D()(Add()({a, b})))), "2 inputs");
  const SymbolicTensor sum = GlobalAveragePooling2D()(a);
  EXPECT_SAYS(refusal(Network({a}, {Dense({.units = 1})(sum), Dense({.units = 2})(sum)})),
              "2 outputs");
}

}  // namespace
}  // namespace pando
