#include "pando/data/sources/imagenet/make.h"

#include <set>

#include <gtest/gtest.h>

#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/data/sources/imagenet/picture.h"
#include "tests/data/counting.h"
#include "tests/data/imagenet_files.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

const MakeImagenetOptions kSmall = {.classes = 5,
                                    .train = 20,
                                    .validation = 10,
                                    .train_shards = 3,
                                    .validation_shards = 2,
                                    .size = {24, 32}};

TEST(MakeImagenet, ShardsThatCanBeLoaded) {
  const TempFolder folder;
  make_imagenet(folder.path("new/set"), kSmall);
  EXPECT_EQ(contents_of(folder.path()).size(), 6u);
  const Imagenet set = load_imagenet(folder.path("new/set"), {.size = {16, 16}, .short_side = 16});
  EXPECT_EQ(set.classes, 5);
  EXPECT_EQ(set.class_names[0], "red disc");
  EXPECT_EQ(set.train.records_per_file, (std::vector<int64_t>{6, 7, 7}));
  EXPECT_EQ(set.validation.data.size(), 10);
  std::vector<int> counts(5);
  for (const int32_t label : labels(set.train.data)) ++counts[static_cast<size_t>(label)];
  EXPECT_EQ(counts, (std::vector<int>{4, 4, 4, 4, 4}));
}

TEST(MakeImagenet, RecordsHaveAllKeysAndASizeThatVaries) {
  const TempFolder folder;
  make_imagenet(folder.path(), kSmall);
  std::set<std::pair<int64_t, int64_t>> sizes;
  for (const Bytes& payload : payloads_in(folder.path("train-00000-of-00003"))) {
    const Example example(payload);
    EXPECT_EQ(example.keys().size(), 15u);
    EXPECT_EQ(example.text("image/format"), "JPEG");
    EXPECT_EQ(example.text("image/colorspace"), "RGB");
    EXPECT_EQ(example.integer("image/channels"), 3);
    const auto label = example.integer("image/class/label");
    EXPECT_EQ(example.text("image/class/synset"), concat("n9000000", label - 1));
    EXPECT_EQ(example.integer("image/object/bbox/label"), label);
    EXPECT_TRUE(example.text("image/filename").ends_with(".JPEG"));
    const Image image = decode_image(example.bytes("image/encoded"), "test");
    EXPECT_EQ(image.size.height, example.integer("image/height"));
    EXPECT_EQ(image.size.width, example.integer("image/width"));
    sizes.insert({image.size.height, image.size.width});
    EXPECT_EQ(read_imagenet_example(example).objects.size(), 1u);
  }
  EXPECT_GE(sizes.size(), 4u);
}

TEST(MakeImagenet, SameFilesForAnyNumberOfWorkersOthersForAnotherSeed) {
  const TempFolder folder;
  MakeImagenetOptions options = kSmall;
  for (const bool jpeg_folders : {false, true}) {
    options.jpeg_folders = jpeg_folders;
    options.seed = 0;
    options.workers = 1;
    const std::string name = jpeg_folders ? "folders" : "shards";
    make_imagenet(folder.path(name), options);
    options.workers = 4;
    make_imagenet(folder.path(name + " again"), options);
    EXPECT_EQ(contents_of(folder.path(name)), contents_of(folder.path(name + " again")));
    options.seed = 1;
    make_imagenet(folder.path(name + " other"), options);
    EXPECT_NE(contents_of(folder.path(name)), contents_of(folder.path(name + " other")));
  }
}

TEST(MakeImagenet, TheFoldersOfIlsvrc) {
  const TempFolder folder;
  MakeImagenetOptions options = kSmall;
  options.jpeg_folders = true;
  make_imagenet(folder.path(), options);
  const auto contents = contents_of(folder.path());
  EXPECT_EQ(contents.size(), 34u);
  for (const char* name :
       {"validation/ILSVRC2012_val_00000010.JPEG", "synset_labels.txt", "imagenet_metadata.txt",
        "imagenet_2012_validation_synset_labels.txt", "imagenet_2012_bounding_boxes.csv"}) {
    EXPECT_TRUE(contents.contains(name)) << name;
  }
  EXPECT_EQ(folder.read("synset_labels.txt").substr(0, 20), "n90000000\nn90000001\n");
  EXPECT_SAYS(folder.read("imagenet_metadata.txt"), "n90000000\tred disc\n");
  EXPECT_SAYS(error_of<IoError>([&] { make_imagenet(folder.path(), options); }),
              "has a folder train already");
}

// The five classes differ in the colour of the object: the mean over its middle shows that labels
// and pictures match.
TEST(MakeImagenet, ClassesDiffer) {
  std::array<std::array<double, 3>, 5> colours{};
  for (int32_t label = 0; label < 5; ++label) {
    for (uint64_t key = 0; key < 10; ++key) {
      const data::Picture picture = data::make_picture(label, {60, 80}, key);
      const ImageSize& size = picture.image.size;
      const auto middle = [](float low, float high, int64_t side) {
        return static_cast<int64_t>((low + high) / 2 * static_cast<float>(side));
      };
      const int64_t y = middle(picture.object.y_min, picture.object.y_max, size.height);
      const int64_t x = middle(picture.object.x_min, picture.object.x_max, size.width);
      for (size_t c = 0; c < 3; ++c) {
        colours[static_cast<size_t>(label)][c] +=
            picture.image.pixels[static_cast<size_t>((y * size.width + x) * 3) + c];
      }
    }
  }
  for (size_t a = 0; a < 5; ++a) {
    for (size_t b = a + 1; b < 5; ++b) {
      double distance = 0;
      for (size_t c = 0; c < 3; ++c) distance += std::abs(colours[a][c] - colours[b][c]);
      EXPECT_GT(distance, 400) << a << " " << b;
    }
  }
}

TEST(MakeImagenet, EveryClassHasAName) {
  std::set<std::string> names;
  for (int32_t label = 0; label < 1000; ++label) names.insert(data::picture_class_name(label));
  EXPECT_EQ(names.size(), 1000u);
}

TEST(MakeImagenet, NumbersThatMakeNoSense) {
  const TempFolder folder;
  const auto error = [&](const MakeImagenetOptions& options) {
    return error_of([&] { make_imagenet(folder.path(), options); });
  };
  EXPECT_SAYS(error({.classes = 0}), "0 classes", "1 to 1000");
  EXPECT_SAYS(error({.classes = 1001}), "1001 classes");
  EXPECT_SAYS(error({.train = 3}), "3 train", "4 shards");
  EXPECT_SAYS(error({.validation_shards = 0}), "100 validation", "0 shards");
  EXPECT_SAYS(error({.train = 8, .jpeg_folders = true}), "8 train", "10 classes");
  EXPECT_SAYS(error({.size = {15, 20}}), "size 15x20");
  EXPECT_SAYS(error({.size = {16, 52401}}), "16x52401", "16 to 52400");
  EXPECT_SAYS(error({.size = {int64_t{1} << 32, int64_t{1} << 32}}), "size 4294967296x4294967296");
  EXPECT_SAYS(error({.size = {10000, 10000}}), "2^26");
  EXPECT_SAYS(error({.workers = 0}), "0 workers");
  EXPECT_EQ(folder.entries(), 0);
}

TEST(MakeImagenet, OtherShardsAreNotMixed) {
  const TempFolder folder;
  make_imagenet(folder.path(), kSmall);
  make_imagenet(folder.path(), kSmall);
  MakeImagenetOptions other = kSmall;
  other.train_shards = 4;
  EXPECT_SAYS(error_of<IoError>([&] { make_imagenet(folder.path(), other); }),
              "train-00000-of-00003");
  const std::string file = folder.write_text("file", "");
  EXPECT_SAYS(error_of<IoError>([&] { make_imagenet(file + "/below", kSmall); }),
              "cannot make the folder");
}

}  // namespace
}  // namespace pando
