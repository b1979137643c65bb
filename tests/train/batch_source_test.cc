// Labels that are not classes of the network are an error, wherever labels are used.
// SPDX-License-Identifier: MIT
#include "pando/train/batch_source.h"

#include "tests/train/train_support.h"

namespace pando {
namespace {

// Twelve images of three classes, one of which has another label.
Dataset data_with(int32_t label, int64_t at) {
  Images all = images(12);
  all.y.i32()[static_cast<size_t>(at)] = label;
  return Dataset::from_tensors(std::move(all.x), std::move(all.y));
}

Model small_model() { return compiled(small_cnn(), classifier()); }

std::string error_of_fit(const Dataset& data, FitOptions options) {
  options.batch_size = 4;
  options.shuffle = false;
  options.verbose = 0;
  Model model = small_model();
  return error_of<InvalidArgument>([&] { model.fit(data, options); });
}

TEST(ClassNumbers, FitNamesTheLabelTheSampleAndTheRange) {
  EXPECT_SAYS(error_of_fit(data_with(3, 6), {}), "fit:", "sample 6", "pass 1", "is 3", "3 outputs",
              "classes 0 to 2");
  EXPECT_SAYS(error_of_fit(data_with(-1, 0), {}), "sample 0", "pass 1", "is -1");
  EXPECT_SAYS(error_of_fit(data_with(1 << 30, 11), {}), " is 1073741824; ");
}

TEST(ClassNumbers, AreCheckedInEveryWayToGoThroughTheData) {
  EXPECT_SAYS(error_of_fit(data_with(3, 2), {.drop_remainder = true, .same_batch = true}),
              "fit:", "sample 2 ");
  EXPECT_SAYS(error_of_fit(data_with(3, 9), {.carry_remainder = true}), "fit:", "sample 9 ");
  EXPECT_SAYS(error_of_fit(image_data(8), {.validation_data = data_with(7, 5)}),
              "evaluate:", "sample 5", "pass 1", "is 7");
  EXPECT_SAYS(error_of_fit(data_with(3, 11), {.validation_split = 0.25}), "evaluate:", "label");
}

TEST(ClassNumbers, OfEvaluationAreCheckedAndOfPredictionAreNot) {
  Model model = small_model();
  const Dataset wrong = data_with(3, 10);
  EXPECT_SAYS(
      error_of<InvalidArgument>([&] { model.evaluate(wrong, {.batch_size = 4, .verbose = 0}); }),
      "evaluate:", "sample 10 ");
  EXPECT_EQ(model.predict(wrong, {.batch_size = 4}).shape(), Shape({12, 3}));
  // The model is still usable after the error.
  EXPECT_NO_THROW(model.evaluate(image_data(10), {.batch_size = 4, .verbose = 0}));
}

// Endless data and data with a carried remainder are one epoch of the stream.
TEST(ClassNumbers, PassesAreCountedByTheSamples) {
  Batch batch{.valid = 2, .first_sample = 26, .epoch = 0};
  batch.fields = {Tensor(DType::f32, {4, 1}), Tensor(DType::i32, {4})};
  batch.fields[1].i32()[1] = 3;
  batch.fields[1].i32()[3] = 9;  // padding, not a sample
  const train::ClassCheck check{
      .what = "fit", .samples = 12, .weights = {}, .outputs = {{.field = 1, .classes = 3}}};
  EXPECT_SAYS(error_of<InvalidArgument>([&] { check(batch); }), "sample 3 ", "pass 3", "is 3");
  const train::ClassCheck endless{
      .what = "fit", .samples = kEndless, .weights = {}, .outputs = {{.field = 1, .classes = 3}}};
  EXPECT_SAYS(error_of<InvalidArgument>([&] { endless(batch); }), "sample 27 ");
  batch.fields[1].i32()[1] = 2;
  EXPECT_NO_THROW(check(batch));
}

// Pixels may be left without a label, whole samples may not.
TEST(ClassNumbers, OfPixelsMayBeMissing) {
  Batch batch{.valid = 2, .first_sample = 0, .epoch = 0};
  batch.fields = {Tensor(DType::f32, {2, 1}), Tensor(DType::i32, {2, 2, 2})};
  batch.fields[1].i32()[3] = -1;
  const train::ClassCheck check{
      .what = "fit", .samples = 12, .weights = {}, .outputs = {{.field = 1, .classes = 3}}};
  EXPECT_NO_THROW(check(batch));
  for (const int32_t wrong : {-2, 3, 255}) {
    batch.fields[1].i32()[5] = wrong;
    EXPECT_SAYS(error_of<InvalidArgument>([&] { check(batch); }), "sample 1 (from 0",
                " is " + std::to_string(wrong), "-1 marks");
  }
  batch.fields[1] = Tensor::of_i32({2}, {0, -1});
  EXPECT_SAYS(error_of<InvalidArgument>([&] { check(batch); }), "sample 1 (from 0", " is -1; ");
}

}  // namespace
}  // namespace pando
