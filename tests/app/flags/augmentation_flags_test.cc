// SPDX-License-Identifier: MIT
#include "pando/app/flags/augmentation_flags.h"

#include "pando/app/flags/deciding_options.h"
#include "pando/datasets/all_datasets.h"
#include "tests/app/parse_options.h"
#include "tests/app/test_folder.h"

namespace pando::app {
namespace {

AugmentationChoice chosen(const std::vector<std::string>& args) {
  return parse(args).data.augmentation.choice();
}

TEST(AugmentationFlags, LeaveTheDataSetAsItIsByDefault) {
  const AugmentationChoice choice = chosen({});
  EXPECT_FALSE(choice.flip || choice.border || choice.least_area);
  EXPECT_FALSE(choice.changes.any() || choice.mix.on() || choice.alters_pictures());
}

TEST(AugmentationFlags, ReachTheirFields) {
  const AugmentationChoice choice =
      chosen({"--random-flip", "both", "--random-crop", "3", "--random-rotation", "15",
              "--color-jitter", "0.4,0.3,0.2,0.1", "--randaugment", "2,7", "--random-erasing",
              "0.25", "--random-erasing-fill", "noise", "--mixup", "0.2", "--cutmix", "1"});
  EXPECT_EQ(choice.flip, true);
  EXPECT_TRUE(choice.changes.flip_rows);
  EXPECT_EQ(choice.border, 3);
  EXPECT_EQ(choice.changes.rotation, 15);
  EXPECT_EQ(choice.changes.jitter.brightness, 0.4);
  EXPECT_EQ(choice.changes.jitter.contrast, 0.3);
  EXPECT_EQ(choice.changes.jitter.saturation, 0.2);
  EXPECT_EQ(choice.changes.jitter.hue, 0.1);
  EXPECT_EQ(choice.changes.randaugment.operations, 2);
  EXPECT_EQ(choice.changes.randaugment.magnitude, 7);
  EXPECT_EQ(choice.changes.erasing, 0.25);
  EXPECT_EQ(choice.changes.erasing_fill, ErasingFill::noise);
  EXPECT_EQ(choice.mix.mixup, 0.2);
  EXPECT_EQ(choice.mix.cutmix, 1);
}

TEST(AugmentationFlags, FlipsInEitherDirection) {
  EXPECT_EQ(chosen({"--random-flip=none"}).flip, false);
  EXPECT_FALSE(chosen({"--random-flip=none"}).changes.any());
  EXPECT_EQ(chosen({"--random-flip=horizontal"}).flip, true);
  EXPECT_FALSE(chosen({"--random-flip=horizontal"}).changes.flip_rows);
  EXPECT_EQ(chosen({"--random-flip=vertical"}).flip, false);
  EXPECT_TRUE(chosen({"--random-flip=vertical"}).changes.flip_rows);
}

TEST(AugmentationFlags, FewerNumbersHaveTheUsualMeaning) {
  const ColorJitter one = chosen({"--color-jitter=0.4"}).changes.jitter;
  EXPECT_EQ(one.brightness, 0.4);
  EXPECT_EQ(one.contrast, 0.4);
  EXPECT_EQ(one.saturation, 0.4);
  EXPECT_EQ(one.hue, 0);
  const ColorJitter three = chosen({"--color-jitter", "0.1", "0.2", "0.3"}).changes.jitter;
  EXPECT_EQ(three.saturation, 0.3);
  EXPECT_EQ(three.hue, 0);
  EXPECT_EQ(chosen({"--randaugment=3"}).changes.randaugment.magnitude, 9);
}

TEST(AugmentationFlags, RefuseWrongValues) {
  EXPECT_SAYS(error({"--random-flip=up"}), "--random-flip", "horizontal", "'up'");
  EXPECT_SAYS(error({"--random-crop=-1"}), "--random-crop", "-1");
  EXPECT_SAYS(error({"--random-rotation=200"}), "--random-rotation", "180");
  EXPECT_SAYS(error({"--color-jitter=0.1,0.2"}), "--color-jitter", "got 2");
  EXPECT_SAYS(error({"--color-jitter=0.1,0.2,0.3,0.9"}), "--color-jitter", "0.5", "0.9");
  EXPECT_SAYS(error({"--color-jitter=-1"}), "--color-jitter", "-1");
  EXPECT_SAYS(error({"--randaugment=2,9,1"}), "--randaugment", "got 3");
  EXPECT_SAYS(error({"--randaugment=1.5"}), "--randaugment", "1.5");
  EXPECT_SAYS(error({"--randaugment=17"}), "--randaugment", "0 to 16", "17");
  EXPECT_SAYS(error({"--randaugment=2,31"}), "--randaugment", "30");
  EXPECT_SAYS(error({"--random-erasing=1.1"}), "--random-erasing", "1.1");
  EXPECT_SAYS(error({"--random-erasing-fill=noise"}), "--random-erasing-fill", "nothing is erased",
              "--random-erasing 0.25");
  EXPECT_SAYS(error({"--mixup=-0.1"}), "--mixup", "-0.1");
  EXPECT_SAYS(error({"--cutmix=many"}), "--cutmix", "many");
  EXPECT_SAYS(error({"--random-crop-area=0"}), "--random-crop-area");
}

TEST(AugmentationFlags, RefuseWhatTheDataSetCannotHave) {
  EXPECT_SAYS(error({"--random-crop-area=0.5"}), "--random-crop-area", "fashion_mnist",
              "fixed size", "image_folder");
  const TestFolder folder;
  const std::string path = folder.path.string();
  EXPECT_SAYS(error({"--model=resnet18", "--dataset=image_folder", "--dataset-path", path,
                     "--random-crop=4"}),
              "--random-crop", "image_folder", "got 4", "--random-crop-area");
  EXPECT_SAYS(error({"--model=resnet18", "--dataset=image_folder", "--dataset-path", path,
                     "--random-crop=0", "--random-crop-area=0.5"}),
              "--random-crop-area", "--random-crop 0", "remove one");
  EXPECT_SAYS(error({"--model=cosmoflow", "--dataset-path", path, "--random-rotation=5"}),
              "--random-rotation", "cosmoflow", "not pictures");
  EXPECT_SAYS(error({"--model=cosmoflow", "--dataset-path", path, "--mixup=0.2"}), "--mixup",
              "cosmoflow", "regression");
}

// A resumed run is told about another augmentation.
TEST(AugmentationFlags, DecideTheResults) {
  const ConfigValue options = deciding_options(parse({"--mixup=0.2", "--color-jitter=0.4"}));
  for (const char* name :
       {"random-flip", "random-crop", "random-crop-area", "random-rotation", "color-jitter",
        "randaugment", "random-erasing", "random-erasing-fill", "mixup", "cutmix"}) {
    EXPECT_NE(options.find(name), nullptr) << name;
  }
  EXPECT_EQ(to_yaml(*options.find("mixup")), "0.2");
}

TEST(AugmentationFlags, NamesOfOtherProgramsAreTranslated) {
  EXPECT_SAYS(error({"--hflip=0.5"}), "--hflip", "--random-flip");
  EXPECT_SAYS(error({"--reprob=0.2"}), "--reprob", "--random-erasing");
  EXPECT_SAYS(error({"--aa=rand-m9-n2"}), "--aa", "--randaugment");
  EXPECT_SAYS(error({"--mixup-alpha=0.2"}), "--mixup-alpha", "--mixup");
  EXPECT_SAYS(error({"--degrees=10"}), "--degrees", "--random-rotation");
}

}  // namespace
}  // namespace pando::app
