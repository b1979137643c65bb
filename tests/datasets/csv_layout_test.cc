// Pictures with labels in a CSV file: loading for training, verifying, measuring and showing.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/image/png.h"
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
using Names = std::vector<std::string>;

class CsvLayout : public testing::Test {
 protected:
  CsvLayout() {
    for (const char* part : {"train", "val"}) {
      fs::create_directory(folder_.path(part));
      for (int i = 0; i < 6; ++i) {
        folder_.write(concat(part, "/", part, i, ".png"), encode_png(soft_image({12, 9}).view()));
      }
    }
  }
  void write(const std::string& part, const std::string& text) const {
    folder_.write_text(part + "labels.csv", text);
  }
  // Every picture has the next of the labels.
  static std::string rows(const std::string& part, const Names& labels, const char* before = "") {
    std::string text;
    for (size_t i = 0; i < 6; ++i) {
      text += concat(before, part, i, ".png,", labels[i % labels.size()], "\n");
    }
    return text;
  }
  TrainingData load(DataLoadOptions options = {}, const std::string& below = "") const {
    options.view_side = 8;
    return dataset_record("image_folder").load(folder_.path(below), options);
  }
  VerifyReport verify() const { return verify_dataset("image_folder", folder_.path(), {}); }

  TempFolder folder_;
};

TEST_F(CsvLayout, OneClassForEachPicture) {
  write("train/", rows("train", {"dog", "cat"}));
  write("val/", rows("val", {"cat", "dog"}));
  const TrainingData data = load();
  EXPECT_EQ(data.task, "classification");
  EXPECT_EQ(data.class_names, (Names{"cat", "dog"}));
  EXPECT_EQ(data.sets.classes, 2);
  EXPECT_EQ(to_string(data.sets.train.fields()), "x f32[8,8,3], y i32[]");
  EXPECT_EQ(data.sets.train.get(0).y().i32()[0], 1);
  EXPECT_EQ(data.sets.test.get(0).y().i32()[0], 0);
}

TEST_F(CsvLayout, SeveralClassesForEachPicture) {
  write("train/", rows("train", {"dog", "cat;dog"}));
  write("val/", rows("val", {"cat"}));
  const TrainingData data = load();
  EXPECT_EQ(data.task, "multilabel");
  EXPECT_EQ(to_string(data.sets.test.fields()), "x f32[8,8,3], y f32[2]");
  EXPECT_EQ(data.sets.train.get(1).y().f32()[0], 1);
  EXPECT_EQ(data.sets.test.get(1).y().f32()[1], 0);
}

TEST_F(CsvLayout, OneTableForBothParts) {
  write("", rows("train", {"1", "0"}, "train/") + rows("val", {"0"}));
  folder_.write_text("labels.txt", "no\nyes\n");
  const TrainingData data = load();
  EXPECT_EQ(data.sets.train.size(), 6);
  EXPECT_EQ(data.sets.test.size(), 6);
  EXPECT_EQ(data.class_names, (Names{"no", "yes"}));
  EXPECT_EQ(data.sets.train.get(0).y().i32()[0], 1);
  // Verification sees the same parts, whatever else lies there.
  fs::create_directory(folder_.path("notes"));
  const VerifyReport report = verify();
  EXPECT_TRUE(report.good());
  ASSERT_EQ(report.parts.size(), 2);
  EXPECT_EQ(report.parts[0].samples, data.sets.train.size());
  EXPECT_EQ(report.parts[1].samples, data.sets.test.size());
}

TEST_F(CsvLayout, ValidationMayBeCutOut) {
  write("train/", rows("train", {"dog", "cat"}));
  const TrainingData data = load({.validation_split = 0.34}, "train");
  EXPECT_EQ(data.sets.train.size(), 4);
  EXPECT_EQ(data.sets.test.size(), 2);  // one of every class
  EXPECT_NE(data.sets.test.get(0).y().i32()[0], data.sets.test.get(1).y().i32()[0]);
  write("train/", rows("train", {"dog|cat", "cat"}));
  EXPECT_EQ(load({.validation_split = 0.5}, "train").sets.test.size(), 3);
  EXPECT_SAYS(error_of<UsageError>([&] { load({}, "train"); }), "labels.csv", "--validation-split");
}

TEST_F(CsvLayout, LabelsDecideAboutTheFingerprint) {
  write("train/", rows("train", {"dog", "cat"}));
  const std::string before = load({.validation_split = 0.5}, "train").fingerprint;
  write("train/", rows("train", {"cat", "dog"}));
  EXPECT_NE(load({.validation_split = 0.5}, "train").fingerprint, before);
}

TEST_F(CsvLayout, LabelsOfManyPicturesDecideAboutTheFingerprint) {
  for (int i = 6; i < 100; ++i) {
    folder_.write(concat("train/train", i, ".png"), encode_png(soft_image({12, 9}).view()));
  }
  const auto fingerprint = [&](const char* of_last, const char* names) {
    std::string text;
    for (int i = 0; i < 100; ++i) {
      text += concat("train", i, ".png,", i == 99 ? of_last : i % 2 == 0 ? "dog" : "cat", "\n");
    }
    write("train/", text);
    folder_.write_text("train/labels.txt", names);
    return load({.validation_split = 0.02}, "train").fingerprint;
  };
  const std::string before = fingerprint("cat", "cat\ndog\n");
  EXPECT_EQ(fingerprint("cat", "cat\ndog\n"), before);
  EXPECT_NE(fingerprint("dog", "cat\ndog\n"), before);
  EXPECT_NE(fingerprint("cat", "dog\ncat\n"), before);
}

TEST_F(CsvLayout, SaysWhatIsWrong) {
  write("train/", rows("train", {"dog", "cat"}));
  EXPECT_SAYS(error_of<IoError>([&] { load(); }), folder_.path("val"), "labels.csv");
  write("val/", rows("val", {"bird"}));
  EXPECT_SAYS(error_of<IoError>([&] { load(); }), folder_.path("val/labels.csv"), "line 1",
              "'bird'");
  write("val/", "none.png,cat\nval0.png,cat\n");
  EXPECT_SAYS(error_of<IoError>([&] { load(); }), "line 1", "none.png");
  const TrainingData data = load({.on_bad_record = OnBadRecord::skip});
  ASSERT_EQ(data.skipped.size(), 1u);
  EXPECT_SAYS(data.skipped[0].why, "none.png");
  EXPECT_EQ(data.sets.test.size(), 1);
}

TEST_F(CsvLayout, VerifyCountsClassesAndListsWhatIsWrong) {
  write("train/", rows("train", {"dog", "cat;dog"}));
  write("val/", rows("val", {"cat"}));
  const VerifyReport report = verify();
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.classes, (Names{"cat", "dog"}));
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].per_class, (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(report.samples(), 12);
  folder_.write("train/train1.png", {1});
  write("val/", rows("val", {"bird"}));
  const VerifyReport bad = verify();
  EXPECT_EQ(bad.bad_count, 2);
  EXPECT_EQ(bad.bad[0].file, folder_.path("train/train1.png"));
  EXPECT_SAYS(bad.bad[1].why, "'bird'");
}

TEST_F(CsvLayout, IsShownAndMeasured) {
  write("train/", rows("train", {"dog", "cat;dog"}));
  write("val/", rows("val", {"cat"}));
  const Image several = show_dataset("image_folder", folder_.path(), {.samples = 2});
  EXPECT_GT(several.size.width, 2 * 96);
  EXPECT_NO_THROW(show_dataset("image_folder", folder_.path(), {.samples = 1, .test = true}));
  write("train/", rows("train", {"dog", "cat"}));
  EXPECT_NE(show_dataset("image_folder", folder_.path(), {.samples = 2}).pixels, several.pixels);
  EXPECT_EQ(benchmark_dataset("image_folder", folder_.path(), {.seconds = 0.001, .batch_size = 2})
                .samples,
            6);
}

}  // namespace
}  // namespace pando
