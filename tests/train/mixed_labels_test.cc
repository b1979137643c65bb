// Training on mixed labels beside evaluation on class numbers.
// SPDX-License-Identifier: MIT
#include "pando/data/image/mixed.h"
#include "tests/train/train_support.h"

namespace pando {
namespace {

CompileOptions any_labels(double smoothing = 0) {
  return {.optimizer = SGD({.learning_rate = 0.1}),
          .loss = CategoricalCrossentropy({.label_smoothing = smoothing, .any_labels = true}),
          .metrics = {"accuracy"}};
}

TEST(MixedLabels, TrainOnSharesAndEvaluateClassNumbers) {
  const Dataset data = image_data(48);
  Model model(small_cnn());
  model.compile(any_labels(0.1));
  const History history = model.fit(mix_samples(data, 3, {.mixup = 0.2, .cutmix = 1}),
                                    {.epochs = 20, .batch_size = 8, .verbose = 0});
  const Logs mixed = model.evaluate(data);
  EXPECT_GT(value_of(mixed, "accuracy"), 0.9);
  Model plain(small_cnn());
  plain.compile(
      {.loss = SparseCategoricalCrossentropy({.label_smoothing = 0.1}), .metrics = {"accuracy"}});
  plain.set_weights(model.get_weights());
  EXPECT_EQ(value_of(plain.evaluate(data), "loss"), value_of(mixed, "loss"));
}

TEST(MixedLabels, WrongClassNumbersAndTypesAreStillRefused) {
  Model model(small_cnn());
  model.compile(any_labels());
  Images seen = images(8);
  seen.y.i32()[3] = 7;
  const Dataset wrong = Dataset::from_tensors(seen.x, seen.y);
  EXPECT_SAYS(error_of([&] { model.evaluate(wrong); }), "label of sample 3", "7");
  EXPECT_SAYS(error_of([&] { model.evaluate(one_hot(image_data(8), 5)); }), "f32", "5");
  const Dataset bytes = Dataset::from_tensors(seen.x, Tensor(DType::u8, {8}));
  EXPECT_SAYS(error_of([&] { model.evaluate(bytes); }), "categorical_crossentropy", "u8");
}

}  // namespace
}  // namespace pando
