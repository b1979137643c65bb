// Pictures with masks: loading for training, verifying, measuring and showing.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/image/mask.h"
#include "pando/data/image/png.h"
#include "pando/data/sources/make_shapes.h"
#include "pando/datasets/all_datasets.h"
#include "pando/datasets/tools/benchmark.h"
#include "pando/datasets/tools/show.h"
#include "pando/datasets/tools/verify.h"
#include "pando/options/usage_error.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

class MaskLayout : public testing::Test {
 protected:
  MaskLayout() { make_shapes(folder_.path(), {.train = 6, .validation = 3, .size = 32}); }
  TrainingData load(DataLoadOptions options = {}, const std::string& below = "") const {
    options.view_side = 16;
    return dataset_record("image_folder").load(folder_.path(below), options);
  }
  VerifyReport verify(int workers = 2) const {
    return verify_dataset("image_folder", folder_.path(), {.workers = workers});
  }

  TempFolder folder_;
};

TEST_F(MaskLayout, IsRecognisedAsSegmentation) {
  const TrainingData data = load();
  EXPECT_EQ(data.task, "segmentation");
  EXPECT_EQ(data.sets.classes, 3);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"background", "circle", "square"}));
  EXPECT_EQ(data.sets.train.size(), 6);
  EXPECT_EQ(data.sets.test.size(), 3);
  EXPECT_EQ(to_string(data.sets.train.fields()), "x f32[16,16,3], y i32[16,16]");
  EXPECT_EQ(to_string(data.sets.test.fields()), to_string(data.sets.train.fields()));
  EXPECT_FALSE(
      std::ranges::equal(data.sets.train.get(0, 0).y().i32(), data.sets.train.get(0, 1).y().i32()));
  EXPECT_TRUE(
      std::ranges::equal(data.sets.test.get(0, 0).y().i32(), data.sets.test.get(0, 1).y().i32()));
}

// By default a view shows at least half of a picture, so a picture that is half of one class shows
// it in every view.
TEST_F(MaskLayout, ViewsShowHalfOfAPictureUnlessTheUserChooses) {
  Image half({32, 32}, 1);
  std::fill_n(half.pixels.begin(), 32 * 20, uint8_t{1});
  folder_.write("train/masks/00000.png", encode_png(half.view()));
  const auto views_of_one_class = [&](const DataLoadOptions& options) {
    const Dataset train = load(options).sets.train;
    int64_t count = 0;
    for (int64_t epoch = 0; epoch < 60; ++epoch) {
      const Sample sample = train.get(0, epoch);
      const auto [least, most] = std::ranges::minmax(sample.y().i32());
      count += least == most ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(views_of_one_class({}), 0);
  DataLoadOptions small;
  small.augmentation.least_area = 0.05;
  EXPECT_GT(views_of_one_class(small), 5);
}

TEST_F(MaskLayout, OtherFoldersAreClasses) {
  for (const char* part : {"train", "validation"}) {
    fs::rename(folder_.path(concat(part, "/masks")), folder_.path(concat(part, "/other")));
  }
  EXPECT_EQ(load().task, "classification");
  EXPECT_EQ(load().class_names, (std::vector<std::string>{"images", "other"}));
}

TEST_F(MaskLayout, PicturesGoToTheDevicesAsBytes) {
  const TrainingData data = load({.prepare_on_device = true, .eight_bit = true});
  EXPECT_EQ(to_string(data.sets.train.fields()), "x u8[16,16,3], y i32[16,16], flip u8[]");
  ASSERT_TRUE(data.front.has_value());
}

TEST_F(MaskLayout, ValidationMayBeCutOut) {
  const TrainingData data = load({.validation_split = 0.34}, "train");
  EXPECT_EQ(data.sets.train.size(), 4);
  EXPECT_EQ(data.sets.test.size(), 2);
  EXPECT_EQ(data.task, "segmentation");
  EXPECT_TRUE(data.class_names.empty());  // labels.txt lies beside train
  const TrainingData again = load({.seed = 9, .validation_split = 0.34}, "train");
  EXPECT_TRUE(
      std::ranges::equal(data.sets.test.get(1).y().i32(), again.sets.test.get(1).y().i32()));
  EXPECT_EQ(data.fingerprint, again.fingerprint);
  EXPECT_SAYS(error_of<UsageError>([&] { load({}, "train"); }), "no folder train", "masks",
              "--validation-split");
}

TEST_F(MaskLayout, MasksDecideAboutTheFingerprint) {
  const std::string before = load().fingerprint;
  fs::copy_file(folder_.path("train/masks/00001.png"), folder_.path("train/masks/00000.png"),
                fs::copy_options::overwrite_existing);
  EXPECT_NE(load().fingerprint, before);
}

TEST_F(MaskLayout, MasksOfManyPicturesDecideAboutTheFingerprint) {
  TempFolder many;
  make_shapes(many.path(), {.train = 100, .validation = 1, .size = 32});
  const auto fingerprint = [&](uint8_t first, uint8_t second) {
    Image mask({32, 32}, 1);
    std::ranges::fill(mask.pixels, first);
    std::fill_n(mask.pixels.begin(), 512, second);
    const auto bytes = encode_png(mask.view());
    for (const auto& entry : fs::directory_iterator(many.path("train/masks"))) {
      many.write("train/masks/" + entry.path().filename().string(), bytes);
    }
    return std::pair(bytes.size(),
                     dataset_record("image_folder").load(many.path(), {}).fingerprint);
  };
  const auto before = fingerprint(1, 2);
  const auto after = fingerprint(2, 1);
  ASSERT_EQ(before.first, after.first);  // sizes do not tell the masks apart
  EXPECT_NE(before.second, after.second);
}

TEST_F(MaskLayout, BothPartsHaveMasks) {
  fs::remove_all(folder_.path("validation/masks"));
  EXPECT_SAYS(error_of<IoError>([&] { load(); }), folder_.path("validation"), "images and masks");
  const VerifyReport report = verify();
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_EQ(report.bad[0].file, folder_.path("validation"));
}

TEST_F(MaskLayout, VerifyCountsPixels) {
  const VerifyReport report = verify();
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.counted, "pixels");
  EXPECT_EQ(report.samples(), 9);
  EXPECT_EQ(report.classes.size(), 3u);
  ASSERT_EQ(report.parts.size(), 2u);
  int64_t pixels = 0;
  for (const int64_t count : report.parts[0].per_class) pixels += count;
  EXPECT_EQ(pixels, 6 * 32 * 32);
  EXPECT_EQ(report.parts[0].per_class.size(), 3u);
}

TEST_F(MaskLayout, VerifyListsWhatIsWrong) {
  Image small({31, 32}, 1);
  folder_.write("train/masks/00000.png", encode_png(small.view()));
  fs::remove(folder_.path("train/masks/00001.png"));
  Image high({32, 32}, 1);
  std::ranges::fill(high.pixels, uint8_t{7});
  folder_.write("validation/masks/00002.png", encode_png(high.view()));
  Image unknown({32, 32}, 1);
  std::fill_n(unknown.pixels.begin(), 100, uint8_t{255});
  folder_.write("train/masks/00005.png", encode_png(unknown.view()));
  const VerifyReport report = verify(1);
  EXPECT_EQ(report.bad_count, 3);
  EXPECT_EQ(report.samples(), 6);
  EXPECT_SAYS(report.bad.at(0).why, "no mask");
  EXPECT_SAYS(report.bad.at(1).why, "31x32");
  EXPECT_SAYS(report.bad.at(2).why, "class number 7", "0 to 2");
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_SAYS(report.notes[0], "train: 100 of 4,096 pixels are not labelled");
  EXPECT_EQ(verify(3).bad, report.bad);
  folder_.write("labels.txt", {});
  EXPECT_SAYS(verify().bad.at(0).why, "labels.txt");
}

TEST_F(MaskLayout, ShowsMasksBesideTheirPictures) {
  const Image sheet = show_dataset("image_folder", folder_.path(), {.samples = 2, .columns = 2});
  EXPECT_GT(sheet.size.width, 2 * 2 * 224);
  // Circles and squares have the colours of their classes.
  std::set<std::array<uint8_t, 3>> colours;
  for (size_t i = 0; i < sheet.pixels.size(); i += 3) {
    colours.insert({sheet.pixels[i], sheet.pixels[i + 1], sheet.pixels[i + 2]});
  }
  EXPECT_TRUE(colours.contains(class_colour(1)) || colours.contains(class_colour(2)));
  EXPECT_TRUE(colours.contains(class_colour(0)));
}

// 0 and 255 alone would be classes 0 and 1; but a mask of validation has other numbers.
TEST_F(MaskLayout, AllPartsTellWhatTheNumbersOfAShownPartMean) {
  Image half({32, 32}, 1);
  std::fill_n(half.pixels.begin(), 512, uint8_t{255});
  const Image black({32, 32}, 3);
  for (int i = 0; i < 6; ++i) {
    folder_.write(concat("train/masks/0000", i, ".png"), encode_png(half.view()));
  }
  for (const auto& entry : fs::directory_iterator(folder_.path("train/images"))) {
    folder_.write("train/images/" + entry.path().filename().string(), encode_png(black.view()));
  }
  const auto shows_class_1 = [&] {
    const std::array<uint8_t, 3> colour = class_colour(1);
    const Image sheet = show_dataset("image_folder", folder_.path(), {.samples = 2, .columns = 2});
    for (size_t i = 0; i < sheet.pixels.size(); i += 3) {
      if (std::equal(colour.begin(), colour.end(), &sheet.pixels[i])) return true;
    }
    return false;
  };
  EXPECT_FALSE(shows_class_1());
  for (int i = 0; i < 3; ++i) {
    folder_.write(concat("validation/masks/0000", i, ".png"), encode_png(half.view()));
  }
  EXPECT_TRUE(shows_class_1());
}

TEST_F(MaskLayout, IsMeasured) {
  const DataBenchmarkReport report =
      benchmark_dataset("image_folder", folder_.path(), {.seconds = 0.001, .batch_size = 2});
  EXPECT_EQ(report.samples, 6);
  EXPECT_GE(report.stages.size(), 3u);
}

}  // namespace
}  // namespace pando
