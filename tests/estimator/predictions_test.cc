// SPDX-License-Identifier: MIT
#include "tests/estimator/estimator_support.h"

namespace pando {
namespace {

using namespace estimator_tests;  // NOLINT(google-build-using-namespace)

class EstimatorPredict : public testing::Test {
 protected:
  EstimatorPredict() { estimator_.train(endless(), {.steps = 40}); }

  TempFolder folder_;
  Estimator estimator_{
      classifier_fn,
      {.model_dir = folder_.path(), .config = config_of({.iterations_per_loop = 2})}};
};

TEST_F(EstimatorPredict, EndsWithTheData) {
  const Images wanted = images(11);
  size_t count = 0, right = 0;
  for (const Prediction& one : estimator_.predict(finite(11, 3))) {
    EXPECT_EQ(one.size(), 3);
    EXPECT_EQ(one.at("classes").shape().rank(), 0);
    EXPECT_EQ(one.at("logits").shape(), Shape({3}));
    double sum = 0;
    for (const float p : one.at("probabilities").f32()) sum += p;
    EXPECT_NEAR(sum, 1, 1e-6);
    right += one.at("classes").i32()[0] == wanted.y.i32()[count] ? 1 : 0;
    ++count;
  }
  EXPECT_EQ(count, 11);
  EXPECT_GE(right, 10);
}

TEST_F(EstimatorPredict, DataWithoutEndGiveAsManyAsAreAskedFor) {
  auto stream = estimator_.predict(endless(), {.num_predictions = 30});
  int count = 0;
  while (stream.next()) ++count;
  EXPECT_EQ(count, 30);
  EXPECT_FALSE(stream.next());
  auto endless_stream = estimator_.predict(endless());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(endless_stream.next());
}

TEST_F(EstimatorPredict, GivesTheChosenKeysInBatches) {
  auto stream = estimator_.predict(finite(11, 3),
                                   {.predict_keys = {"classes"}, .yield_single_examples = false});
  std::vector<int64_t> rows;
  while (const auto batch = stream.next()) {
    EXPECT_EQ(batch->size(), 1);
    rows.push_back(batch->at("classes").shape()[0]);
  }
  EXPECT_EQ(rows, (std::vector<int64_t>{6, 5}));
}

TEST_F(EstimatorPredict, NamesWhatIsWrong) {
  EXPECT_SAYS(error_of<InvalidArgument>(
                  [&] { estimator_.predict(finite(), {.predict_keys = {"clases"}}); }),
              "classes");
  EXPECT_SAYS(
      error_of<InvalidArgument>([&] { estimator_.predict(finite(), {.num_predictions = -1}); }),
      "num_predictions: expected at least 0, got -1");
  EXPECT_SAYS(error_of<IoError>([&] {
                estimator_.predict(finite(), {.checkpoint_path = folder_.path("none.h5")});
              }),
              "none.h5");
}

TEST_F(EstimatorPredict, OutputsNeedARowForEachSample) {
  const auto model_fn = [](const ModelInput& in) {
    EstimatorSpec spec = classifier_fn(in);
    spec.predictions = {{"odd", [](const Tensor&) { return Tensor(DType::f32, {1}); }}};
    return spec;
  };
  Estimator odd(model_fn, {.model_dir = folder_.path(), .config = config_of()});
  auto stream = odd.predict(finite(11, 3));
  EXPECT_SAYS(error_of<InvalidArgument>([&] { stream.next(); }),
              "prediction 'odd': expected a row for each of 3 samples, got shape [1]");
}

TEST_F(EstimatorPredict, OtherWeightsThanTheNetworksAreAnError) {
  const auto model_fn = [](const ModelInput& in) {
    EstimatorSpec spec = classifier_fn(in);
    spec.output = Dense({.units = 3, .name = "other"})(Flatten()(in.features));
    return spec;
  };
  Estimator other(model_fn, {.model_dir = folder_.path(), .config = config_of()});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { other.predict(finite()); }), "'other/kernel'");
  const auto wider_fn = [](const ModelInput& in) {
    EstimatorSpec spec = classifier_fn(in);
    spec.output =
        Dense({.units = 3})(Flatten()(Conv2D({.filters = 5, .kernel = {3, 3}})(in.features)));
    return spec;
  };
  Estimator wider(wider_fn, {.model_dir = folder_.path(), .config = config_of()});
  const std::string message = error_of<InvalidArgument>([&] { wider.predict(finite()); });
  for (const char* part : {"model.ckpt-40.h5: ", "'conv2d/kernel'", "[3,3,1,5]", "got [3,3,1,4]"}) {
    EXPECT_SAYS(message, part);
  }
}

}  // namespace
}  // namespace pando
