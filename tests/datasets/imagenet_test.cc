// Verifies, measures and shows ImageNet.
// SPDX-License-Identifier: MIT
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/sources/imagenet/make.h"
#include "pando/datasets/tools/benchmark.h"
#include "pando/datasets/tools/show.h"
#include "pando/datasets/tools/verify.h"
#include "tests/data/imagenet_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

// Two classes; three training images in two shards and one for validation.
class ImagenetTools : public testing::Test {
 protected:
  ImagenetTools() {
    write("train-00000-of-00002", {imagenet_example(1).encode(), imagenet_example(2).encode()});
    write("train-00001-of-00002", {imagenet_example(2).encode()});
    write("validation-00000-of-00001", {imagenet_example(1).encode()});
    folder_.write_text("labels.txt", "n01\ttench\nn02\tgoldfish\n");
  }
  void write(const std::string& name, const std::vector<Bytes>& examples) const {
    folder_.write(name, records(examples));
  }
  VerifyReport verify(const VerifyOptions& options = {}) const {
    return verify_dataset("imagenet", folder_.path(), options);
  }

  TempFolder folder_;
};

TEST_F(ImagenetTools, VerifyCountsWhatIsGood) {
  const VerifyReport report = verify({.workers = 2});
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.classes, (std::vector<std::string>{"tench", "goldfish"}));
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].per_class, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(report.parts[0].official, 1281167);
  EXPECT_EQ(report.parts[1].samples, 1);
  EXPECT_EQ(report.files.size(), 3u);
  EXPECT_EQ(report.notes, (std::vector<std::string>{
                              "train: 2 shards, 1024 in the official data set",
                              "validation: 1 shards, 128 in the official data set",
                              "train: 3 good samples, 1281167 in the official data set",
                              "validation: 1 good samples, 50000 in the official data set"}));
  EXPECT_EQ(verify({.official = true}).bad_count, 4);
}

TEST_F(ImagenetTools, VerifyListsEveryBadRecord) {
  Bytes cut = small_jpeg();
  cut.resize(cut.size() / 2);
  ExampleBuilder bad_box = imagenet_example(1);
  add_boxes(bad_box, {0.5f}, {0}, {0.25f}, {1});
  const std::vector<Bytes> examples = {imagenet_example(0).encode(),
                                       imagenet_example(1).encode(),
                                       imagenet_example(3).encode(),
                                       imagenet_example(2, cut).encode(),
                                       bad_box.encode(),
                                       ExampleBuilder().ints("image/class/label", {1}).encode(),
                                       imagenet_example(2).encode()};
  write("train-00001-of-00002", examples);
  const VerifyReport report = verify({.workers = 2});
  ASSERT_EQ(report.bad.size(), 5u);
  EXPECT_SAYS(report.bad[0].why, "byte 0", "'image/class/label'", "1 to 2");
  EXPECT_EQ(report.bad[1].offset, record(examples[0]).size() + record(examples[1]).size());
  EXPECT_SAYS(report.bad[2].why, "feature 'image/encoded'");
  EXPECT_SAYS(report.bad[3].why, "box 0");
  EXPECT_SAYS(report.bad[4].why, "image/encoded");
  EXPECT_EQ(report.parts[0].samples, 4);
  EXPECT_EQ(report.files[1].bad, 5);
}

TEST_F(ImagenetTools, VerifyNamesMissingShards) {
  fs::remove(folder_.path("train-00000-of-00002"));
  fs::remove(folder_.path("validation-00000-of-00001"));
  const VerifyReport report = verify();
  ASSERT_EQ(report.bad.size(), 2u);
  EXPECT_EQ(report.bad[0].file, folder_.path("train-00000-of-00002"));
  EXPECT_SAYS(report.bad[1].why, "validation-", "128");
  EXPECT_EQ(report.samples(), 1);
}

TEST_F(ImagenetTools, VerifyWantsSoundLabels) {
  fs::remove(folder_.path("labels.txt"));
  EXPECT_SAYS(verify().notes.at(0), "no labels.txt");
  folder_.write_text("labels.txt", "");
  const VerifyReport report = verify();
  ASSERT_EQ(report.bad.size(), 1u);
  EXPECT_SAYS(report.bad[0].file, "labels.txt");
  EXPECT_EQ(verify_dataset("imagenet", folder_.path("none")).samples(), 0);
  EXPECT_FALSE(verify_dataset("imagenet", folder_.path("none")).good());
}

TEST_F(ImagenetTools, BenchmarkHasAllStages) {
  const DataBenchmarkReport report =
      benchmark_dataset("imagenet", folder_.path(), {.seconds = 0.01, .batch_size = 2});
  std::vector<std::string> names;
  for (const StageRate& stage : report.stages) {
    names.push_back(stage.stage);
    EXPECT_GT(stage.samples, 0) << stage.stage;
    EXPECT_GT(stage.bytes_out, 0) << stage.stage;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"read", "check", "parse", "decode", "augment", "batch"}));
  EXPECT_EQ(report.samples, 3);
}

TEST_F(ImagenetTools, ShowHasBothParts) {
  const Image train = show_dataset("imagenet", folder_.path());
  EXPECT_EQ(train.size, (ImageSize{6 + 224 + 18 + 6, 3 * 230 + 6}));
  EXPECT_NE(show_dataset("imagenet", folder_.path(), {.augment = false}).pixels, train.pixels);
  EXPECT_EQ(show_dataset("imagenet", folder_.path(), {.test = true}).size.width, 230 + 6);
}

TEST(ImagenetMade, IsGood) {
  const TempFolder folder;
  make_imagenet(folder.path(), {.classes = 2,
                                .train = 6,
                                .validation = 2,
                                .train_shards = 2,
                                .validation_shards = 1,
                                .size = {40, 50}});
  const VerifyReport report = verify_dataset("imagenet", folder.path());
  EXPECT_TRUE(report.good());
  EXPECT_EQ(report.samples(), 8);
}

}  // namespace
}  // namespace pando
