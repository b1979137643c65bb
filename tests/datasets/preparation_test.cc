// What the host does to samples and what it leaves to the devices.
#include "pando/datasets/preparation.h"

#include <gtest/gtest.h>

#include "pando/options/usage_error.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

constexpr Preparation kAll = {.on_host = PixelValues::scaled,
                              .on_device = PreprocessValues::scale_255,
                              .flip = true,
                              .border = 1};

TrainingData bytes() {
  const auto set = [] {
    Tensor x(DType::u8, {2, 4, 4, 3});
    for (uint8_t& value : x.u8()) value = 51;
    return Dataset::from_tensors(std::move(x), Tensor(DType::i32, {2}));
  };
  return {.sets = {.train = set(), .test = set(), .classes = 2}};
}

TEST(Prepare, TheHostDoesAllWork) {
  TrainingData data = bytes();
  prepare(data, kAll, {});
  EXPECT_FALSE(data.front.has_value());
  EXPECT_EQ(data.sets.train.fields().size(), 2u);
  EXPECT_EQ(data.sets.test.fields()[0], (Field{"x", DType::f32, {4, 4, 3}}));
  EXPECT_FLOAT_EQ(data.sets.test.get(0).x().f32()[0], 0.2f);
}

TEST(Prepare, LeavesWorkToTheDevices) {
  TrainingData data = bytes();
  prepare(data, kAll, {.prepare_on_device = true, .eight_bit = true, .fused = true});
  ASSERT_TRUE(data.front.has_value());
  EXPECT_TRUE(data.front->eight_bit && data.front->flip && data.front->fused);
  EXPECT_EQ(data.front->values, PreprocessValues::scale_255);
  EXPECT_EQ(data.sets.train.fields().back(), (Field{"flip", DType::u8, {}}));
  EXPECT_EQ(data.sets.train.fields()[0].dtype, DType::u8);
  EXPECT_EQ(data.sets.test.get(0).x().u8()[0], 51);
}

TEST(Prepare, WithoutFlippingThereIsNoFieldForIt) {
  TrainingData data = bytes();
  prepare(data, {.on_device = PreprocessValues::standardise}, {.prepare_on_device = true});
  EXPECT_FALSE(data.front->flip);
  EXPECT_EQ(data.sets.train.fields().size(), 2u);
  EXPECT_EQ(data.sets.train.fields()[0].dtype, DType::f32);
}

TEST(Prepare, UsersReplaceWhatIsUsual) {
  TrainingData data = bytes();
  prepare(data, kAll,
          {.prepare_on_device = true, .augmentation = {.flip = false, .border = int64_t{0}}});
  EXPECT_FALSE(data.front->flip);
  EXPECT_EQ(data.sets.train.fields().size(), 2u);
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    EXPECT_EQ(data.sets.train.get(0, epoch).x().f32()[0], 51) << "no border";
  }
  TrainingData plain = bytes();
  const Preparation none = {.on_host = PixelValues::scaled};
  prepare(plain, none, {.augmentation = {.flip = true, .border = int64_t{2}}});
  int bordered = 0;
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    bordered += plain.sets.train.get(0, epoch).x().f32()[0] == 0 ? 1 : 0;
  }
  EXPECT_GT(bordered, 0);
}

TEST(Prepare, OnlyTrainingPicturesAreChanged) {
  TrainingData data = bytes();
  DataLoadOptions options;
  options.augmentation.changes.jitter.brightness = 0.9;
  prepare(data, {.on_host = PixelValues::plain}, options);
  EXPECT_NE(data.sets.train.get(0).x().f32()[0], 51);
  EXPECT_EQ(data.sets.test.get(0).x().f32()[0], 51);
}

// Mirroring comes before mixing, so it is not left to the devices.
TEST(Mix, MirrorsOnTheHostAndKeepsTheOrder) {
  TrainingData data = bytes();
  DataLoadOptions options{.prepare_on_device = true};
  options.augmentation.mix.mixup = 0.2;
  prepare(data, kAll, options);
  EXPECT_FALSE(data.front->flip);
  EXPECT_FALSE(data.in_order);
  mix(data, options);
  EXPECT_TRUE(data.in_order);
  EXPECT_EQ(data.sets.train.fields()[1], (Field{"y", DType::f32, {2}}));
  EXPECT_EQ(data.sets.test.fields()[1], (Field{"y", DType::i32, {}}));
}

TEST(Mix, NeedsLabelsOfOneClass) {
  TrainingData data = bytes();
  data.task = "multilabel";
  DataLoadOptions options;
  options.augmentation.mix.cutmix = 1;
  EXPECT_SAYS(error_of<UsageError>([&] { mix(data, options); }), "--cutmix", "multilabel");
}

TEST(Mix, DoesNothingUnlessAsked) {
  TrainingData data = bytes();
  const SourcePtr before = data.sets.train.source();
  mix(data, {});
  EXPECT_EQ(data.sets.train.source(), before);
  EXPECT_FALSE(data.in_order);
}

TEST(ViewAugmentationTest, FollowsTheChoice) {
  const ViewAugmentation usual = datasets::view_augmentation({});
  EXPECT_TRUE(usual.flip && usual.random_box && !usual.changes.any());
  EXPECT_EQ(datasets::view_box({}).min_area, DistortedBoxOptions{}.min_area);
  AugmentationChoice choice{.flip = false, .border = int64_t{0}, .least_area = 0.5};
  choice.changes.rotation = 5;
  const ViewAugmentation other = datasets::view_augmentation(choice);
  EXPECT_TRUE(!other.flip && !other.random_box && other.changes.any());
  EXPECT_EQ(datasets::view_box(choice).min_area, 0.5f);
  const DataLoadOptions devices{.prepare_on_device = true};
  EXPECT_TRUE(datasets::view_front(devices)->flip);
  DataLoadOptions unflipped = devices;
  unflipped.augmentation.flip = false;
  EXPECT_FALSE(datasets::view_front(unflipped)->flip);
}

TEST(LoadArrays, ListsWhatIsLeftOutWhenThatIsAllowed) {
  const auto read = [](std::vector<BadRecord>* skipped) {
    TrainTest sets = bytes().sets;
    if (skipped != nullptr) {
      skipped->push_back({"file", 7, "bad"});
      sets.test = sets.test.take(0);
    }
    return sets;
  };
  EXPECT_TRUE(datasets::load_arrays("here", {}, read).skipped.empty());
  EXPECT_SAYS(error_of<IoError>([&] {
                datasets::load_arrays("here", {.on_bad_record = OnBadRecord::skip}, read);
              }),
              "here: ", "test sample", "1 bad record");
}

TEST(LoadArrays, AnEmptyFileIsNoListOfBadRecords) {
  const auto read = [](std::vector<BadRecord>*) {
    TrainTest sets = bytes().sets;
    sets.train = sets.train.take(0);
    return sets;
  };
  const std::string message = error_of<IoError>([&] { datasets::load_arrays("here", {}, read); });
  EXPECT_SAYS(message, "here: ", "training");
  EXPECT_FALSE(message.ends_with("; ")) << message;
}

}  // namespace
}  // namespace pando
