// SPDX-License-Identifier: MIT
#include "pando/data/sources/mask_folder.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/image/png.h"
#include "pando/data/sources/make_shapes.h"
#include "tests/data/png_files.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

Bytes grey_png(const ImageSize& size, const std::function<uint8_t(int64_t y, int64_t x)>& value) {
  Image image(size, 1);
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) image.row(y)[x] = value(y, x);
  }
  return encode_png(image.view());
}

// The class of a pixel is a tenth of its brightness, so that pictures show what masks must be.
constexpr int kClassStep = 10;

Bytes picture_of_classes(const ImageSize& size,
                         const std::function<uint8_t(int64_t y, int64_t x)>& value) {
  Image image(size);
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < 3 * size.width; ++x) {
      image.row(y)[x] = static_cast<uint8_t>(kClassStep * value(y, x / 3));
    }
  }
  return encode_png(image.view());
}

uint8_t corner(int64_t y, int64_t x) {
  return static_cast<uint8_t>((y < 9 ? 0 : 2) + (x < 13 ? 0 : 1));
}

class MaskFolderTest : public testing::Test {
 protected:
  MaskFolderTest() {
    for (const char* name : {"images/deep", "masks/deep"}) {
      std::filesystem::create_directories(folder_.path(name));
    }
    for (const char* name : {"b", "deep/a"}) add(name);
  }
  void add(const std::string& name) {
    folder_.write("images/" + name + ".jpg", picture_of_classes({20, 30}, corner));
    folder_.write("masks/" + name + ".png", grey_png({20, 30}, corner));
  }
  MaskFolders read() const { return read_mask_folders({folder_.path()}, options_); }
  std::string failure() const {
    return error_of<IoError>([&] { read(); });
  }

  TempFolder folder_;
  ImageFolderOptions options_ = {.size = {8, 8}, .short_side = 8, .dtype = DType::u8};
};

TEST_F(MaskFolderTest, ListsPicturesWithTheirMasks) {
  folder_.write("images/Thumbs.db", {1});
  folder_.write("masks/._b.png", {1});
  EXPECT_TRUE(data::holds_masks(folder_.path()));
  EXPECT_FALSE(data::holds_masks(folder_.path("images")));
  const MaskFolders folders = read();
  ASSERT_EQ(folders.parts.size(), 1u);
  ASSERT_EQ(folders.parts[0].size(), 2u);
  EXPECT_EQ(folders.parts[0][0].image, folder_.path("images/b.jpg"));
  EXPECT_EQ(folders.parts[0][1].mask, folder_.path("masks/deep/a.png"));
  EXPECT_EQ(folders.classes, 4);
  EXPECT_TRUE(folders.warnings.empty());
  const Dataset dataset = open_masked_images(folders.parts[0], options_);
  EXPECT_EQ(to_string(dataset.fields()), "x u8[8,8,3], y i32[8,8]");
}

// Away from the edges of a mask, its picture must show the same classes; at edges, pixels of the
// picture are mixed.
void expect_mask_fits(const Sample& sample) {
  const std::span<const int32_t> y = sample.y().i32();
  int compared = 0;
  for (size_t i = 9; i < 55; ++i) {
    if (i % 8 == 0 || i % 8 == 7) continue;
    const bool inside =
        y[i] == y[i - 8] && y[i] == y[i + 8] && y[i] == y[i - 1] && y[i] == y[i + 1];
    if (!inside) continue;
    EXPECT_NEAR(sample.x().u8()[3 * i], kClassStep * y[i], 1) << i;
    ++compared;
  }
  EXPECT_GT(compared, 8);
}

TEST_F(MaskFolderTest, MasksAreCutMirroredAndResizedLikeTheirPictures) {
  const Dataset middle = open_masked_images(read().parts[0], options_);
  expect_mask_fits(middle.get(0));
  options_.random_views = true;
  const Dataset random = open_masked_images(read().parts[0], options_);
  std::set<std::vector<int32_t>> seen;
  for (int64_t epoch = 0; epoch < 30; ++epoch) {
    const Sample sample = random.get(1, epoch);
    expect_mask_fits(sample);
    seen.emplace(sample.y().i32().begin(), sample.y().i32().end());
  }
  EXPECT_GT(seen.size(), 20u);
}

// Turned, sheared and moved too; what comes from outside is not labelled.
TEST_F(MaskFolderTest, MasksAreChangedLikeTheirPictures) {
  options_.size = {16, 16};
  options_.short_side = 16;
  options_.random_views = true;
  options_.augmentation.changes = {.flip_rows = true, .rotation = 30};
  for (const bool random_box : {true, false}) {
    options_.augmentation.random_box = random_box;
    const Dataset dataset = open_masked_images(read().parts[0], options_);
    int64_t outside = 0;
    int64_t compared = 0;
    for (int64_t epoch = 0; epoch < 40; ++epoch) {
      const Sample sample = dataset.get(0, epoch);
      const std::span<const int32_t> y = sample.y().i32();
      for (size_t i = 17; i < 239; ++i) {
        if (y[i] == kNotLabelled) ++outside;
        const auto same = [&](size_t other) { return y[other] == y[i]; };
        const bool inside = i % 16 != 0 && i % 16 != 15 && y[i] != kNotLabelled && same(i - 1) &&
                            same(i + 1) && same(i - 16) && same(i + 16) && same(i - 17) &&
                            same(i - 15) && same(i + 15) && same(i + 17);
        if (!inside) continue;
        // Interpolated twice; the next class is at 10.
        ASSERT_NEAR(sample.x().u8()[3 * i], kClassStep * y[i], 4) << "epoch " << epoch << ", " << i;
        ++compared;
      }
    }
    EXPECT_GT(outside, 100);
    EXPECT_GT(compared, 2000);
  }
}

TEST_F(MaskFolderTest, ColoursAndErasingLeaveMasksAsTheyAre) {
  options_.random_views = true;
  const Dataset plain = open_masked_images(read().parts[0], options_);
  options_.augmentation.changes = {.jitter = {0.5, 0.5, 0.5, 0.1}, .erasing = 1};
  const Dataset changed = open_masked_images(read().parts[0], options_);
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_TRUE(std::ranges::equal(changed.get(0, epoch).y().i32(), plain.get(0, epoch).y().i32()));
    EXPECT_FALSE(std::ranges::equal(changed.get(0, epoch).x().u8(), plain.get(0, epoch).x().u8()));
  }
}

TEST_F(MaskFolderTest, WrongChangesAreRefused) {
  options_.random_views = true;
  options_.augmentation.changes.rotation = 10;
  options_.flip_on_device = true;
  const auto open = [&] { return error_of([&] { load_image_folder(folder_.path(), options_); }); };
  EXPECT_SAYS(open(), "flip_on_device", "mirrored before");
  options_.augmentation.changes.rotation = 400;
  EXPECT_SAYS(open(), "image folder", "rotation 400");
}

TEST_F(MaskFolderTest, TheDeviceMirrorsThePictureAndTheHostTheMask) {
  options_.random_views = true;
  const Dataset done = open_masked_images(read().parts[0], options_);
  options_.flip_on_device = true;
  const Dataset told = open_masked_images(read().parts[0], options_);
  EXPECT_EQ(to_string(told.fields()), "x u8[8,8,3], y i32[8,8], flip u8[]");
  int flips = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const Sample after = done.get(0, epoch);
    const Sample before = told.get(0, epoch);
    EXPECT_TRUE(std::ranges::equal(after.y().i32(), before.y().i32()));
    flips += before.fields[2].u8()[0];
  }
  EXPECT_NEAR(flips, 10, 9);
}

TEST_F(MaskFolderTest, TurnsMasksOfTheStoredSizeWithTheirPictures) {
  // A JPEG whose EXIF data ask for a quarter turn to the right: its left edge becomes the top.
  Image stored({16, 48});
  for (int64_t y = 0; y < 16; ++y) {
    for (int64_t x = 0; x < 144; ++x) stored.row(y)[x] = x < 72 ? 0 : kClassStep * 3;
  }
  folder_.write("images/b.jpg", turned_jpeg(encode_jpeg(stored.view(), {.quality = 100})));
  folder_.write("masks/b.png",
                grey_png({16, 48}, [](int64_t, int64_t x) { return x < 24 ? 0 : 3; }));
  const Sample turned = open_masked_images(read().parts[0], options_).get(0);
  EXPECT_EQ(turned.y().i32()[0], 0);
  EXPECT_EQ(turned.y().i32()[63], 3);
  EXPECT_NEAR(turned.x().u8()[3 * 63], kClassStep * 3, 2);
  // A mask that was drawn on the upright picture stays as it is.
  folder_.write("masks/b.png",
                grey_png({48, 16}, [](int64_t y, int64_t) { return y < 24 ? 0 : 3; }));
  const Sample upright = open_masked_images(read().parts[0], options_).get(0);
  EXPECT_TRUE(std::ranges::equal(upright.y().i32(), turned.y().i32()));
}

TEST_F(MaskFolderTest, MarksPixelsThatAreNotLabelled) {
  folder_.write("masks/b.png",
                grey_png({20, 30}, [](int64_t y, int64_t) { return y < 9 ? 255 : 1; }));
  const MaskFolders folders = read();
  EXPECT_EQ(folders.classes, 4);
  const Sample sample = open_masked_images(folders.parts[0], options_, folders.numbers).get(0);
  EXPECT_EQ(sample.y().i32()[0], kNotLabelled);
  EXPECT_EQ(sample.y().i32()[63], 1);
}

TEST_F(MaskFolderTest, MasksOf0And255HaveTwoClasses) {
  const Bytes black_and_white =
      grey_png({20, 30}, [](int64_t y, int64_t) { return y < 9 ? 255 : 0; });
  folder_.write("masks/b.png", black_and_white);
  EXPECT_TRUE(read().warnings.empty());  // the other mask has other numbers
  folder_.write("masks/deep/a.png", black_and_white);
  const MaskFolders folders = read();
  EXPECT_EQ(folders.classes, 2);
  ASSERT_EQ(folders.warnings.size(), 1u);
  EXPECT_SAYS(folders.warnings[0], "0 and 255", "class 1", "not labelled");
  const Sample sample = open_masked_images(folders.parts[0], options_, folders.numbers).get(0);
  EXPECT_EQ(sample.y().i32()[0], 1);
  EXPECT_EQ(sample.y().i32()[63], 0);
  options_.classes = {"ground"};
  EXPECT_SAYS(failure(), folder_.path("masks/b.png"), "class number 1", "expected 0 to 0");
}

TEST_F(MaskFolderTest, NamesDecideHowManyClassesThereAre) {
  options_.classes = {"a", "b", "c", "d", "e"};
  EXPECT_EQ(read().classes, 5);
  EXPECT_EQ(read().class_names, options_.classes);
  options_.classes = {"a", "b", "c"};
  EXPECT_SAYS(failure(), folder_.path("masks/b.png"), "class number 3", "expected 0 to 2",
              "3 names");
  options_.on_bad_record = OnBadRecord::skip;
  EXPECT_SAYS(failure(), "none of its pictures", "class number 3");
  folder_.write("masks/b.png", grey_png({20, 30}, [](int64_t, int64_t) { return 2; }));
  const MaskFolders folders = read();
  EXPECT_EQ(folders.parts[0].size(), 1u);
  ASSERT_EQ(folders.bad.size(), 1u);
  EXPECT_EQ(folders.bad[0].file, folder_.path("masks/deep/a.png"));
}

TEST_F(MaskFolderTest, SeveralPartsHaveTheSameClasses) {
  const TempFolder other;
  for (const char* name : {"images", "masks"}) std::filesystem::create_directory(other.path(name));
  other.write("images/x.png", picture_of_classes({9, 9}, corner));
  other.write("masks/x.png", grey_png({9, 9}, [](int64_t, int64_t) { return 6; }));
  const MaskFolders folders = read_mask_folders({folder_.path(), other.path()}, options_);
  EXPECT_EQ(folders.parts.size(), 2u);
  EXPECT_EQ(folders.classes, 7);
}

TEST_F(MaskFolderTest, FilesThatDoNotFitTogether) {
  folder_.write("masks/c.png", grey_png({4, 4}, corner));
  std::filesystem::create_directory(folder_.path("notes"));
  const std::vector<std::string> warnings = read().warnings;
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_SAYS(warnings[0], "1 mask without a picture", folder_.path("masks/c.png"));
  EXPECT_SAYS(warnings[1], folder_.path("notes"), "not read");
  for (const char* name : {"images/d.png", "images/e.png"}) {
    folder_.write(name, picture_of_classes({4, 4}, corner));
  }
  EXPECT_SAYS(failure(), folder_.path("images/d.png"), "has no mask", folder_.path("masks/d.png"),
              "1 other picture");
  folder_.write("images/b.png", picture_of_classes({20, 30}, corner));
  EXPECT_SAYS(failure(), folder_.path("images/b.jpg"), folder_.path("images/b.png"), "ending");
}

TEST_F(MaskFolderTest, AMaskOfAnotherSizeIsAnErrorWithBothFiles) {
  folder_.write("masks/b.png", grey_png({20, 29}, corner));
  const Dataset dataset = open_masked_images(read().parts[0], options_);
  EXPECT_SAYS(error_of<IoError>([&] { dataset.get(0); }), folder_.path("masks/b.png"), "20x29",
              "20x30", folder_.path("images/b.jpg"));
  EXPECT_NO_THROW(dataset.get(1));
}

TEST_F(MaskFolderTest, SkipsBadSamplesAndListsThem) {
  add("c");
  add("d");
  add("e");
  folder_.write("images/b.jpg", {1, 2, 3});
  folder_.write("masks/c.png", encode_png(soft_image({20, 30}).view()));
  folder_.write("masks/d.png", grey_png({20, 29}, corner));
  std::filesystem::remove(folder_.path("masks/e.png"));
  EXPECT_SAYS(failure(), folder_.path("images/e.jpg"), "has no mask");
  options_.on_bad_record = OnBadRecord::skip;
  for (const int workers : {1, 3}) {
    options_.workers = workers;
    const MaskFolders folders = read();
    ASSERT_EQ(folders.parts[0].size(), 1u);
    EXPECT_EQ(folders.parts[0][0].image, folder_.path("images/deep/a.jpg"));
    ASSERT_EQ(folders.bad.size(), 4u);
    EXPECT_EQ(folders.bad[0].file, folder_.path("images/b.jpg"));
    EXPECT_SAYS(folders.bad[1].why, "has no mask");
    EXPECT_SAYS(folders.bad[2].why, "colours");
    EXPECT_SAYS(folders.bad[3].why, "20x29");
  }
}

TEST_F(MaskFolderTest, ABadMaskIsAnErrorAtTheStart) {
  folder_.write("masks/b.png", encode_png(soft_image({20, 30}).view()));
  EXPECT_SAYS(failure(), folder_.path("masks/b.png"), "colours");
}

TEST_F(MaskFolderTest, SaysWhatIsMissing) {
  const TempFolder other;
  for (const char* name : {"images", "masks"}) std::filesystem::create_directory(other.path(name));
  EXPECT_SAYS(error_of<IoError>([&] { read_mask_folders({other.path()}, options_); }),
              other.path("images"), "no pictures");
  for (const uint8_t value : {uint8_t{0}, uint8_t{255}}) {
    for (const char* name : {"b", "deep/a"}) {
      folder_.write(concat("masks/", name, ".png"),
                    grey_png({20, 30}, [=](int64_t, int64_t) { return value; }));
    }
    EXPECT_SAYS(failure(), "two classes", value == 0 ? "class 0" : "not labelled");
  }
  options_.workers = 0;
  EXPECT_SAYS(error_of([&] { read(); }), "0 workers");
}

TEST(MakeShapes, IsAFunctionOfItsOptions) {
  const data::ShapesPicture one = data::draw_shapes(64, 5);
  EXPECT_EQ(one.picture.pixels, data::draw_shapes(64, 5).picture.pixels);
  EXPECT_NE(one.mask.pixels, data::draw_shapes(64, 6).mask.pixels);
  std::array<int64_t, 3> pixels{};
  for (uint64_t key = 0; key < 40; ++key) {
    for (const uint8_t value : data::draw_shapes(64, key).mask.pixels) ++pixels.at(value);
  }
  EXPECT_GT(pixels[0], 40 * 64 * 64 / 2);
  EXPECT_GT(pixels[1], 40 * 64 * 64 / 40);
  EXPECT_GT(pixels[2], 40 * 64 * 64 / 40);
}

TEST(MakeShapes, WritesFoldersOfPicturesAndMasks) {
  const TempFolder folder;
  make_shapes(folder.path("s"), {.train = 3, .validation = 2, .size = 32, .seed = 4});
  EXPECT_EQ(folder.read("s/labels.txt"), "background\ncircle\nsquare\n");
  const MaskFolders read = read_mask_folders({folder.path("s/train"), folder.path("s/validation")},
                                             {.classes = {"background", "circle", "square"}});
  EXPECT_EQ(read.parts[0].size(), 3u);
  EXPECT_EQ(read.parts[1].size(), 2u);
  make_shapes(folder.path("t"), {.train = 3, .validation = 2, .size = 32, .seed = 4});
  EXPECT_EQ(folder.read("t/train/images/00002.png"), folder.read("s/train/images/00002.png"));
  EXPECT_NE(folder.read("t/train/masks/00002.png"), folder.read("s/validation/masks/00001.png"));
}

TEST(MakeShapes, ChecksItsOptions) {
  EXPECT_SAYS(error_of([] { make_shapes("x", {.train = 0}); }), "at least 1", "0 for training");
  EXPECT_SAYS(error_of([] { make_shapes("x", {.size = 8}); }), "16 to 4096", "got 8");
  const TempFolder folder;
  folder.write("file", {1});
  EXPECT_SAYS(error_of<IoError>([&] { make_shapes(folder.path("file"), {.size = 16}); }), "file",
              "cannot make");
}

}  // namespace
}  // namespace pando
