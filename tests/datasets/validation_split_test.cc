#include "pando/datasets/validation_split.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/sources/cifar/cifar.h"
#include "pando/data/sources/imagenet/make.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/synthetic_images.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace pando::datasets {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

TEST(ValidationSplit, CountsLeaveBothPartsSomething) {
  EXPECT_EQ(validation_count(100, 0.1), 10);
  EXPECT_EQ(validation_count(15, 0.1), 2);
  EXPECT_EQ(validation_count(3, 0.1), 1);
  EXPECT_EQ(validation_count(2, 0.9), 1);
  EXPECT_EQ(validation_count(1, 0.5), 0);
  EXPECT_EQ(validation_count(0, 0.5), 0);
}

TEST(ValidationSplit, TakesTheFractionOfEveryClass) {
  std::vector<int32_t> labels;
  for (int i = 0; i < 40; ++i) labels.push_back(0);
  for (int i = 0; i < 10; ++i) labels.push_back(2);
  labels.push_back(5);
  const SplitIndices split = split_by_class(labels, 0.2);
  EXPECT_EQ(split.train.size(), 41u);
  ASSERT_EQ(split.validation.size(), 10u);
  EXPECT_EQ(std::ranges::count_if(split.validation, [](int64_t i) { return i < 40; }), 8);
  EXPECT_TRUE(std::ranges::is_sorted(split.train));
  EXPECT_TRUE(std::ranges::is_sorted(split.validation));
  EXPECT_NE(split.validation[0] + 7, split.validation[7]);  // not the first or last ones in a row
  std::vector<int64_t> all = split.train;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  std::ranges::sort(all);
  for (int64_t i = 0; i < 51; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
  EXPECT_SAYS(error_of([] { split_by_class(std::vector<int32_t>{0, 1}, 0.5); }), "2 classes");
}

std::vector<uint8_t> first_pixels(const Dataset& set) {
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < set.size(); ++i) pixels.push_back(set.get(i).x().u8()[0]);
  return pixels;
}

// Bytes for the devices are not augmented, so that samples can be told apart.
TEST(ValidationSplit, OfArraysDoesNotDependOnTheSeed) {
  const TempFolder folder;
  const std::string made = make_cifar10(folder.path(), {.train = 200, .test = 10});
  const auto load = [&](uint64_t seed, double fraction) {
    return dataset_record("cifar10").load(
        made,
        {.prepare_on_device = true, .eight_bit = true, .seed = seed, .validation_split = fraction});
  };
  const TrainingData whole = load(1, 0);
  const TrainingData cut = load(1, 0.1);
  EXPECT_EQ(whole.sets.train.size(), 200);
  EXPECT_EQ(cut.sets.train.size(), 180);
  EXPECT_EQ(cut.sets.test.size(), 20);
  EXPECT_EQ(first_pixels(cut.sets.test), first_pixels(load(2, 0.1).sets.test));
}

TEST(ValidationSplit, OfRecordsTakesTheLastOnes) {
  const TempFolder folder;
  make_imagenet(folder.path(), {.classes = 3,
                                .train = 23,
                                .validation = 4,
                                .train_shards = 4,
                                .validation_shards = 2,
                                .size = {24, 32}});
  std::filesystem::remove(folder.path("validation-00000-of-00002"));  // not needed
  const TrainingData data =
      dataset_record("imagenet").load(folder.path(), {.view_side = 16, .validation_split = 0.3});
  EXPECT_EQ(data.sets.train.size(), 16);
  EXPECT_EQ(data.sets.test.size(), 7);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"red disc", "yellow disc", "green disc"}));
  for (int64_t i = 0; i < 16; ++i) EXPECT_NO_THROW(data.sets.train.get(i, 1));
}

TEST(ValidationSplit, OfSyntheticImages) {
  const TrainingData data = synthetic_data(dataset_record("mnist"), {zoo_entry("mnist_cnn"), 1},
                                           {.validation_split = 0.25});
  EXPECT_EQ(data.sets.train.size(), 45000);
  EXPECT_EQ(data.sets.test.size(), 15000);
}

TEST(ValidationSplit, FilesWithoutTheirLastRecords) {
  const Dataset ten = Dataset::from_tensors(Tensor(DType::f32, {10}), Tensor(DType::i32, {10}));
  const RecordDataset records{ten, {}, {4, 3, 3}};
  EXPECT_EQ(without_last(records, 2).records_per_file, (std::vector<int64_t>{4, 3, 1}));
  EXPECT_EQ(without_last(records, 3).records_per_file, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(without_last(records, 8).records_per_file, (std::vector<int64_t>{2}));
  EXPECT_EQ(without_last(records, 8).data.size(), 2);
}

}  // namespace
}  // namespace pando::datasets
