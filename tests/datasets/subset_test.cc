// SPDX-License-Identifier: MIT
#include "pando/datasets/subset.h"

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"

namespace pando::datasets {
namespace {

using testing_support::error_of;

// Sample i has the number i and the label i mod 4.
TrainingData numbered_samples(int64_t count) {
  Tensor x(DType::f32, {count, 1});
  Tensor y(DType::i32, {count});
  for (int64_t i = 0; i < count; ++i) {
    x.f32()[static_cast<size_t>(i)] = static_cast<float>(i);
    y.i32()[static_cast<size_t>(i)] = static_cast<int32_t>(i % 4);
  }
  const Dataset all = Dataset::from_tensors(x, y);
  return {.sets = {.train = all, .test = all.take(count / 2), .classes = 4},
          .class_names = {"a", "b", "c", "d"}};
}

TEST(Subset, HasTheChosenClassesNumberedAnew) {
  TrainingData data = numbered_samples(20);
  take_subset(data, {.classes = {"d", "1"}});
  EXPECT_EQ(data.sets.classes, 2);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"d", "b"}));
  ASSERT_EQ(data.sets.train.size(), 10);
  EXPECT_EQ(data.sets.test.size(), 5);
  EXPECT_EQ(data.sets.train.get(0).x().f32()[0], 1);
  EXPECT_EQ(data.sets.train.get(0).y().i32()[0], 1);
  EXPECT_EQ(data.sets.train.get(1).x().f32()[0], 3);
  EXPECT_EQ(data.sets.train.get(1).y().i32()[0], 0);
}

TEST(Subset, SpreadsSamplesOverTheClasses) {
  TrainingData data = numbered_samples(40);
  take_subset(data, {.train = 8, .test = 4});
  EXPECT_EQ(data.sets.train.size(), 8);
  EXPECT_EQ(data.sets.test.size(), 4);
  EXPECT_EQ(data.sets.train.get(7).x().f32()[0], 7);
  EXPECT_EQ(data.class_names.size(), 4U);
}

TEST(Subset, NumbersAreNamesWhereThereAreNone) {
  TrainingData data = numbered_samples(20);
  data.class_names.clear();
  take_subset(data, {.classes = {"2", "3"}});
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"2", "3"}));
}

TEST(Subset, NothingChosenChangesNothing) {
  TrainingData data = numbered_samples(20);
  data.task = "regression";
  take_subset(data, {});
  EXPECT_EQ(data.sets.train.size(), 20);
}

TEST(Subset, ReadsOnlyTheSetThatIsMadeSmaller) {
  TrainingData data = numbered_samples(20);
  data.sets.train = data.sets.train.map_in_place(
      [](const SampleView&) { throw std::logic_error("a training sample was read"); });
  take_subset(data, {.test = 4});
  EXPECT_EQ(data.sets.train.size(), 20);
  EXPECT_EQ(data.sets.test.size(), 4);
}

TEST(Subset, NamesTheFlagThatLeavesNothing) {
  TrainingData data = numbered_samples(20);
  data.sets.test = data.sets.test.take(1);  // of class 0
  EXPECT_SAYS(error_of<UsageError>([&] {
                take_subset(data, {.classes = {"1", "2"}});
              }),
              "--dataset-classes", "test set");
  data = numbered_samples(20);
  data.sets.test = data.sets.test.take(0);
  take_subset(data, {.train = 4});
  EXPECT_EQ(data.sets.train.size(), 4);
}

TEST(Subset, RefusesWhatIsNotThere) {
  TrainingData data = numbered_samples(20);
  const auto error = [&](const SubsetOptions& options) {
    return error_of<UsageError>([&] { take_subset(data, options); });
  };
  EXPECT_SAYS(error({.classes = {"e"}}), "--dataset-classes", "0 to 3", "a, b, c, d", "'e'");
  EXPECT_SAYS(error({.classes = {"4"}}), "'4'");
  EXPECT_SAYS(error({.classes = {"1", "b"}}), "twice");
  EXPECT_SAYS(error({.classes = {"1"}}), "--dataset-classes", "at least two", "'1'");
  EXPECT_SAYS(error({.classes = {"1", "2"}, .train = 11}), "--train-samples 11", "10 samples");
  EXPECT_SAYS(error({.test = 11}), "--test-samples 11", "10 samples");
  data.in_order = true;
  EXPECT_SAYS(error({.train = 2}), "--train-samples", "stream");
  data.in_order = false;
  data.task = "regression";
  EXPECT_SAYS(error({.classes = {"1"}, .test = 1}), "--dataset-classes, --test-samples",
              "regression");
}

}  // namespace
}  // namespace pando::datasets
