#include "pando/datasets/synthetic_images.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/datasets/all_datasets.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

TEST(SyntheticImages, RepeatTheirImages) {
  const TrainTest sets = synthetic_images(
      {.shape = {4, 5, 3}, .classes = 7, .train = 10, .test = 4, .distinct = 3, .seed = 1});
  EXPECT_EQ(sets.train.size(), 10);
  EXPECT_EQ(sets.test.size(), 4);
  EXPECT_EQ(sets.classes, 7);
  EXPECT_EQ(sets.train.fields()[0], (Field{"x", DType::u8, {4, 5, 3}}));
  const Sample first = sets.train.get(0);
  EXPECT_TRUE(std::ranges::equal(first.x().u8(), sets.train.get(9).x().u8()));
  EXPECT_FALSE(std::ranges::equal(first.x().u8(), sets.train.get(1).x().u8()));
  EXPECT_LT(first.y().i32()[0], 7);
}

TEST(SyntheticImages, ArePixelsAroundTheMiddle) {
  const TrainTest sets = synthetic_images({.shape = {64, 64, 3}, .train = 1, .test = 1});
  const Sample sample = sets.train.get(0);
  const auto pixels = sample.x().u8();
  const double mean =
      std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size());
  EXPECT_NEAR(mean, 127, 3);
  double squares = 0;
  for (const uint8_t pixel : pixels) squares += (pixel - mean) * (pixel - mean);
  // A normal distribution that is cut off at two deviations has 0.88 of its deviation.
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(pixels.size())), 0.88 * 60, 1);
  EXPECT_GE(*std::ranges::min_element(pixels), 127 - 120);
  EXPECT_LE(*std::ranges::max_element(pixels), 127 + 120);
}

TEST(SyntheticImages, MasksHaveAClassForEveryPixel) {
  const TrainTest sets = synthetic_images(
      {.shape = {4, 5, 3}, .classes = 2, .train = 3, .test = 1, .distinct = 2, .masks = true});
  EXPECT_EQ(sets.train.fields()[1], (Field{"y", DType::i32, {4, 5}}));
  const Sample sample = sets.train.get(0);
  const auto mask = sample.y().i32();
  EXPECT_EQ(*std::ranges::min_element(mask), 0);
  EXPECT_EQ(*std::ranges::max_element(mask), 1);
}

TrainingData made_up(const char* dataset, const char* model, DataLoadOptions options = {},
                     std::optional<int64_t> distinct = 2) {
  return synthetic_data(dataset_record(dataset), {zoo_entry(model), distinct}, options);
}

TEST(SyntheticData, AreOfTheFormOfTheDataSet) {
  const TrainingData mnist = made_up("mnist", "mnist_cnn", {}, 8);
  EXPECT_EQ(mnist.sets.train.size(), 60000);
  EXPECT_EQ(mnist.sets.test.size(), 10000);
  EXPECT_EQ(mnist.sets.classes, 10);
  EXPECT_EQ(mnist.sets.train.fields()[0], (Field{"x", DType::f32, {28, 28, 1}}));
  // Images of any number and size: as many as ImageNet has, of the size of views.
  const TrainingData folder = made_up("image_folder", "resnet18", {.view_side = 16});
  EXPECT_EQ(folder.sets.train.size(), kImagenetTrain);
  EXPECT_EQ(folder.sets.classes, kImagenetClasses);
  EXPECT_EQ(folder.sets.train.fields()[0].shape, (Shape{16, 16, 3}));
  EXPECT_SAYS(testing_support::error_of([] { made_up("tfrecord", "resnet18"); }), "'tfrecord'",
              "images", "resnet18");
}

TEST(SyntheticData, LabelsFollowTheTask) {
  const TrainingData masks = made_up("image_folder", "unet", {.view_side = 16});
  EXPECT_EQ(masks.sets.train.fields()[1], (Field{"y", DType::i32, {16, 16}}));
  EXPECT_EQ(masks.sets.classes, 2);
  EXPECT_EQ(masks.task, "segmentation");
  const TrainingData targets = made_up("cosmoflow", "cosmoflow", {.view_side = 8});
  EXPECT_EQ(targets.sets.train.size(), dataset_record("cosmoflow").train);
  EXPECT_EQ(targets.sets.train.fields()[0], (Field{"x", DType::f32, {8, 8, 8, 4}}));
  EXPECT_EQ(targets.sets.train.fields()[1], (Field{"y", DType::f32, {4}}));
  EXPECT_EQ(targets.sets.classes, 4);
  EXPECT_EQ(targets.task, "regression");
  const TrainingData voxels = made_up("numpy", "unet3d", {.view_side = 8});
  EXPECT_EQ(voxels.sets.train.fields()[0].shape, (Shape{8, 8, 8, 1}));
  EXPECT_EQ(voxels.sets.train.fields()[1], (Field{"y", DType::i32, {8, 8, 8}}));
}

TEST(SyntheticData, VolumesAreRandomAndRepeat) {
  const TrainingData data = made_up("cosmoflow", "cosmoflow", {.view_side = 4, .seed = 3});
  const Sample first = data.sets.train.get(0);
  EXPECT_FALSE(std::ranges::equal(first.x().f32(), data.sets.train.get(1).x().f32()));
  EXPECT_TRUE(std::ranges::equal(first.x().f32(), data.sets.train.get(2).x().f32()));
  const TrainingData other = made_up("cosmoflow", "cosmoflow", {.view_side = 4, .seed = 4});
  EXPECT_FALSE(std::ranges::equal(first.x().f32(), other.sets.train.get(0).x().f32()));
}

}  // namespace
}  // namespace pando
