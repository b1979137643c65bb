#include "pando/data/sources/imagenet/build.h"

#include <algorithm>
#include <csignal>
#include <set>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pando/data/image/png.h"
#include "pando/data/sources/imagenet/build_state.h"
#include "tests/data/counting.h"
#include "tests/data/imagenet_build_case.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using testing_support::error_of;

const std::vector<std::string> kAll = {"labels.txt",
                                       "train-00000-of-00004",
                                       "train-00001-of-00004",
                                       "train-00002-of-00004",
                                       "train-00003-of-00004",
                                       "validation-00000-of-00002",
                                       "validation-00001-of-00002"};

TEST_F(ImagenetBuildTest, EveryImageOnceWithItsLabel) {
  const ImagenetBuildReport report = build();
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.train, 20);
  EXPECT_EQ(report.validation, 10);
  EXPECT_EQ(report.kept_shards, 0);
  EXPECT_EQ(report.converted, 0);
  EXPECT_TRUE(report.skipped.empty());
  EXPECT_EQ(names_in("out"), kAll);
  std::set<std::string> names;
  std::string order;
  for (int shard = 0; shard < 4; ++shard) {
    const auto payloads =
        payloads_in(folder_.path("out/" + data::shard_name(ImagenetPart::train, shard, 4)));
    EXPECT_EQ(payloads.size(), 5u);
    for (const Bytes& payload : payloads) {
      const Example example(payload);
      const std::string name(example.text("image/filename"));
      const std::string synset(example.text("image/class/synset"));
      names.insert(name);
      order += synset;
      EXPECT_TRUE(name.starts_with(synset));
      EXPECT_EQ(synset, concat("n9000000", example.integer("image/class/label") - 1));
      const auto encoded = example.bytes("image/encoded");
      EXPECT_EQ(Bytes(encoded.begin(), encoded.end()),
                read_bytes(source_ + "/train/" + synset + "/" + name));
      EXPECT_EQ(read_imagenet_example(example, 5).objects.size(), 1u);
    }
  }
  EXPECT_EQ(names.size(), 20u);
  EXPECT_SAYS(folder_.read("out/labels.txt"), "n90000001\tyellow disc\n");
}

// make_imagenet() also writes shards directly: the same records in another order.
TEST_F(ImagenetBuildTest, RecordsAreThoseOfTheMaker) {
  build();
  make_imagenet(folder_.path("made"), {.classes = 5,
                                       .train = 20,
                                       .validation = 10,
                                       .train_shards = 1,
                                       .validation_shards = 1,
                                       .size = {24, 32}});
  const auto made = payloads_in(folder_.path("made/validation-00000-of-00001"));
  std::map<std::string, Bytes> by_name;
  for (const Bytes& payload : made) {
    by_name[std::string(Example(payload).text("image/filename"))] = payload;
  }
  for (const char* shard : {"out/validation-00000-of-00002", "out/validation-00001-of-00002"}) {
    for (const Bytes& payload : payloads_in(folder_.path(shard))) {
      const Example ours(payload);
      const Example theirs(by_name.at(std::string(ours.text("image/filename"))));
      EXPECT_EQ(ours.keys(), theirs.keys());
      EXPECT_EQ(ours.integer("image/class/label"), theirs.integer("image/class/label"));
      EXPECT_EQ(ours.text("image/class/text"), theirs.text("image/class/text"));
      EXPECT_TRUE(std::ranges::equal(ours.bytes("image/encoded"), theirs.bytes("image/encoded")));
      EXPECT_NEAR(ours.number("image/object/bbox/xmin"), theirs.number("image/object/bbox/xmin"),
                  1e-5);
    }
  }
}

TEST_F(ImagenetBuildTest, SameBytesForAnyNumberOfWorkers) {
  build("one");
  for (const int workers : {2, 5}) {
    options_.workers = workers;
    build(concat("out", workers));
    EXPECT_EQ(contents_of(folder_.path("one")), contents_of(folder_.path(concat("out", workers))));
  }
  options_.seed = 7;
  build("other");
  EXPECT_NE(contents_of(folder_.path("one")), contents_of(folder_.path("other")));
}

TEST_F(ImagenetBuildTest, OrderIsShuffled) {
  build();
  std::vector<int32_t> seen;
  const Imagenet set = load_imagenet(folder_.path("out"), {.size = {8, 8}, .short_side = 8});
  seen = labels(set.train.data);
  EXPECT_FALSE(std::ranges::is_sorted(seen));
}

TEST_F(ImagenetBuildTest, ReportsProgress) {
  std::vector<ImagenetBuildProgress> reports;
  options_.progress = [&](const ImagenetBuildProgress& at) { reports.push_back(at); };
  build();
  ASSERT_EQ(reports.size(), 6u);
  EXPECT_EQ(reports[0].images, 5);
  EXPECT_EQ(reports[0].all_images, 30);
  EXPECT_EQ(reports[5].images, 30);
  EXPECT_EQ(reports[5].shards, 6);
  EXPECT_EQ(reports[5].all_shards, 6);
}

TEST_F(ImagenetBuildTest, GoesOnAfterAStop) {
  build("whole");
  const ImagenetBuildReport first = build_and_stop(3);
  EXPECT_FALSE(first.finished);
  EXPECT_EQ(first.train, 15);
  EXPECT_EQ(names_in("out").size(), 4u);  // three shards and the state
  EXPECT_TRUE(fs::exists(folder_.path("out/.build-imagenet")));
  folder_.write_text("out/.pando-1-0.tmp", "left by a build that was killed");
  const auto time = fs::last_write_time(folder_.path("out/train-00002-of-00004"));
  const ImagenetBuildReport second = build();
  EXPECT_TRUE(second.finished);
  EXPECT_EQ(second.kept_shards, 3);
  EXPECT_EQ(second.train, 20);
  EXPECT_EQ(contents_of(folder_.path("out")), contents_of(folder_.path("whole")));
  EXPECT_EQ(fs::last_write_time(folder_.path("out/train-00002-of-00004")), time);
}

TEST_F(ImagenetBuildTest, AShardThatIsNotWholeIsBuiltAgain) {
  build("whole");
  build_and_stop(3);
  fs::resize_file(folder_.path("out/train-00001-of-00004"), 100);
  EXPECT_EQ(build().kept_shards, 2);
  EXPECT_EQ(contents_of(folder_.path("out")), contents_of(folder_.path("whole")));
}

// A crash may cut the last line of the state file anywhere.
TEST_F(ImagenetBuildTest, AStateThatIsCutOff) {
  build("whole");
  build_and_stop(2);
  const std::string state = folder_.read("out/.build-imagenet");
  const size_t second = state.rfind('\n', state.size() - 2) + 1;
  for (const size_t kept : {second + 3, state.size() - 1}) {
    folder_.write_text("out/.build-imagenet", state.substr(0, kept));
    const ImagenetBuildReport report = build_and_stop(3);
    EXPECT_EQ(report.kept_shards, 1);
    const ImagenetBuildReport rest = build_and_stop(3);
    EXPECT_EQ(rest.kept_shards, 3) << folder_.read("out/.build-imagenet");
  }
  EXPECT_TRUE(build().finished);
  EXPECT_EQ(contents_of(folder_.path("out")), contents_of(folder_.path("whole")));
}

TEST_F(ImagenetBuildTest, ChangedInputsAreNotMixedWithOldShards) {
  build_and_stop(3);
  overwrite(image_, small_jpeg());
  EXPECT_SAYS(build_error(), "3 shards", "train-00000-of-00004", "unfinished", "flags");
  std::filesystem::remove_all(folder_.path("out"));
  EXPECT_TRUE(build().finished);
}

TEST_F(ImagenetBuildTest, OtherOptionsDoNotThrowWorkAway) {
  build_and_stop(3);
  options_.train_shards = 2;
  EXPECT_SAYS(build_error(), "unfinished", "flags");
  options_.train_shards = 4;
  EXPECT_EQ(build().kept_shards, 3);
}

TEST_F(ImagenetBuildTest, AFinishedSetIsNotTouched) {
  build();
  EXPECT_SAYS(build_error(), "6 shards", "train-00000-of-00004", "unfinished");
  EXPECT_EQ(names_in("out"), kAll);
}

// Simulates another build that finishes after this one has opened its state but before it has the
// lock.
TEST_F(ImagenetBuildTest, AFinishedSetWithAnEmptyStateIsNotTouched) {
  build();
  folder_.write_text("out/.build-imagenet", "");
  EXPECT_SAYS(build_error(), "6 shards", "train-00000-of-00004");
  EXPECT_EQ(names_in("out"), kAll);
}

TEST_F(ImagenetBuildTest, TwoBuildsInOneFolderAreRefused) {
  fs::create_directories(folder_.path("out"));
  const data::BuildState other(folder_.path("out"), 1);
  EXPECT_SAYS(build_error(), "another build");
}

TEST_F(ImagenetBuildTest, PngAndCmykBecomeJpeg) {
  const Image image = soft_image({30, 40});
  overwrite(image_, encode_png(image.view()));
  const std::string cmyk = source_ + "/train/n90000002/cmyk.JPEG";
  fs::copy_file(concat(PANDO_SOURCE_DIR, "/tests/fuzz/corpus/jpeg/cmyk.jpg"), cmyk);
  const ImagenetBuildReport report = build();
  EXPECT_EQ(report.converted, 2);
  EXPECT_EQ(report.train, 21);
  int found = 0;
  for (int shard = 0; shard < 4; ++shard) {
    const std::string name = "out/" + data::shard_name(ImagenetPart::train, shard, 4);
    for (const Bytes& payload : payloads_in(folder_.path(name))) {
      const Example example(payload);
      const Bytes encoded(example.bytes("image/encoded").begin(),
                          example.bytes("image/encoded").end());
      const ImageReader reader(encoded, "test");
      EXPECT_EQ(reader.format(), ImageFormat::jpeg);
      EXPECT_FALSE(reader.cmyk());
      if (example.text("image/filename") != fs::path(image_).filename().string()) continue;
      ++found;
      EXPECT_EQ(example.integer("image/width"), 40);
      const Image decoded = decode_image(encoded, "test");
      double difference = 0;
      for (size_t i = 0; i < decoded.pixels.size(); ++i) {
        difference += std::abs(decoded.pixels[i] - image.pixels[i]);
      }
      EXPECT_LT(difference / static_cast<double>(decoded.pixels.size()), 6);
    }
  }
  EXPECT_EQ(found, 1);
}

TEST_F(ImagenetBuildTest, TurnedImagesKeepTheirBytesAndTheSizeThatIsStored) {
  const Bytes turned = turned_jpeg(small_jpeg({30, 40}));
  overwrite(image_, turned);
  build();
  int found = 0;
  for (int shard = 0; shard < 4; ++shard) {
    const std::string name = "out/" + data::shard_name(ImagenetPart::train, shard, 4);
    for (const Bytes& payload : payloads_in(folder_.path(name))) {
      const Example example(payload);
      if (example.text("image/filename") != fs::path(image_).filename().string()) continue;
      ++found;
      EXPECT_EQ(example.integer("image/width"), 40);
      EXPECT_EQ(example.integer("image/height"), 30);
      EXPECT_TRUE(std::ranges::equal(example.bytes("image/encoded"), turned));
    }
  }
  EXPECT_EQ(found, 1);
}

TEST_F(ImagenetBuildTest, ABadImageIsNamedOrSkipped) {
  overwrite(image_, "GIF89a");
  EXPECT_SAYS(build_error(), image_, "GIF");
  EXPECT_TRUE(fs::exists(folder_.path("out/.build-imagenet")));
  options_.on_bad_record = OnBadRecord::skip;
  const ImagenetBuildReport report = build();
  EXPECT_TRUE(report.finished);
  EXPECT_EQ(report.train, 19);
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_EQ(report.skipped[0].file, image_);
  EXPECT_SAYS(report.skipped[0].why, "GIF");
}

TEST_F(ImagenetBuildTest, SkippedImagesOfEarlierRunsAreListedToo) {
  overwrite(image_, "");
  options_.on_bad_record = OnBadRecord::skip;
  build_and_stop(5);
  const ImagenetBuildReport report = build();
  EXPECT_EQ(report.kept_shards, 5);
  EXPECT_EQ(report.train, 19);
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_EQ(report.skipped[0].file, image_);
  EXPECT_SAYS(report.skipped[0].why, "no bytes at all");
}

// A limit on file sizes stands in for a full disk.
TEST_F(ImagenetBuildTest, AFullDiskLeavesNothingHalf) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 2000;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = build_error();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_SAYS(error, "cannot write '" + folder_.path("out/train-00000-of-00004"));
  EXPECT_SAYS(error, "File too large");
  EXPECT_EQ(names_in("out"), (std::vector<std::string>{".build-imagenet"}));
  EXPECT_TRUE(build().finished);
}

TEST_F(ImagenetBuildTest, WhatCannotBeWrittenIsNamed) {
  folder_.write_text("out", "a file");
  EXPECT_SAYS(build_error(), "out: cannot make the folder");
}

TEST_F(ImagenetBuildTest, NumbersThatMakeNoSense) {
  const auto error = [&] { return error_of([&] { build(); }); };
  options_.train_shards = 21;
  EXPECT_SAYS(error(), "20 train", "21 shards", "--train-shards");
  options_.train_shards = 0;
  EXPECT_SAYS(error(), "0 train", "1 to 99999");
  options_.train_shards = 1;
  options_.validation_shards = 100000;
  EXPECT_SAYS(error(), "100000 validation shards");
  options_.validation_shards = 1;
  options_.workers = 0;
  EXPECT_SAYS(error(), "0 workers");
  EXPECT_FALSE(fs::exists(folder_.path("out")));
}

}  // namespace
}  // namespace pando
