#include "pando/data/sources/image_folder.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/image/png.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

Bytes flat_png(uint8_t value) {
  Image image({10, 12});
  std::fill(image.pixels.begin(), image.pixels.end(), value);
  return encode_png(image.view());
}

// Three classes; file extensions do not match the contents, and one file must be skipped.
class ImageFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"dog", "cat", "ant/deep", ".git"}) {
      std::filesystem::create_directories(directory_.path(name));
    }
    directory_.write("dog/b.jpg", flat_png(40));
    directory_.write("dog/a.png", encode_jpeg(soft_image({20, 30}).view()));
    directory_.write("cat/2", flat_png(30));
    directory_.write("cat/10", flat_png(20));
    directory_.write("cat/.hidden", {1, 2, 3});
    directory_.write("ant/deep/x.bin", flat_png(10));
    directory_.write("readme.txt", {'h', 'i'});
  }
  std::string path() const { return directory_.path(); }

  TempFolder directory_;
  ImageFolderOptions bytes_ = {.size = {8, 8}, .short_side = 8, .dtype = DType::u8};
};

TEST_F(ImageFolderTest, ListsClassesAndFilesInTheOrderOfTheirNames) {
  const ImageFolder folder = load_image_folder(path(), bytes_);
  EXPECT_EQ(folder.classes, (std::vector<std::string>{"ant", "cat", "dog"}));
  EXPECT_EQ(folder.files, (std::vector<std::string>{path() + "/ant/deep/x.bin", path() + "/cat/10",
                                                    path() + "/cat/2", path() + "/dog/a.png",
                                                    path() + "/dog/b.jpg"}));
  EXPECT_TRUE(folder.bad.empty());
  EXPECT_EQ(to_string(folder.dataset.fields()), "x u8[8,8,3], y i32[]");
  const std::vector<int32_t> labels = {0, 1, 1, 2, 2};
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(folder.dataset.get(i).y().i32()[0], labels[static_cast<size_t>(i)]);
  }
}

TEST_F(ImageFolderTest, DecodesByContent) {
  const Dataset dataset = load_image_folder(path(), bytes_).dataset;
  EXPECT_EQ(dataset.get(0).x().u8()[0], 10);
  EXPECT_EQ(dataset.get(1).x().u8()[100], 20);
  EXPECT_EQ(dataset.get(2).x().u8()[191], 30);
  EXPECT_EQ(dataset.get(4).x().u8()[5], 40);
  ImageFolderOptions floats = bytes_;
  floats.dtype = DType::f32;
  EXPECT_NEAR(load_image_folder(path(), floats).dataset.get(4).x().f32()[0],
              (40 / 255.0 - 0.485) / 0.229, 1e-5);
}

TEST_F(ImageFolderTest, RandomViewsDependOnSeedEpochAndIndexOnly) {
  ImageFolderOptions options = bytes_;
  options.random_views = true;
  const auto view = [&](uint64_t seed, int64_t epoch, int64_t index) {
    options.seed = seed;
    const Sample sample = load_image_folder(path(), options).dataset.get(index, epoch);
    const auto values = sample.x().u8();
    return Bytes(values.begin(), values.end());
  };
  EXPECT_EQ(view(1, 2, 3), view(1, 2, 3));
  EXPECT_NE(view(1, 2, 3), view(1, 3, 3));
  EXPECT_NE(view(1, 2, 3), view(2, 2, 3));
}

TEST_F(ImageFolderTest, TellsWhichRandomViewsTheDeviceMirrors) {
  ImageFolderOptions options = bytes_;
  options.flip_on_device = true;
  EXPECT_EQ(load_image_folder(path(), options).dataset.fields().size(), 2u);  // nothing is random
  options.random_views = true;
  const Dataset told = load_image_folder(path(), options).dataset;
  options.flip_on_device = false;
  const Dataset done = load_image_folder(path(), options).dataset;
  EXPECT_EQ(to_string(told.fields()), "x u8[8,8,3], y i32[], flip u8[]");
  int flips = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const Sample before = told.get(3, epoch);  // the sample with a picture
    const Sample after = done.get(3, epoch);
    const bool flip = before.fields[2].u8()[0] != 0;
    flips += flip ? 1 : 0;
    for (size_t k = 0; k < 192; ++k) {
      const size_t x = k / 3 % 8;
      ASSERT_EQ(after.x().u8()[k], before.x().u8()[flip ? k - 3 * x + 3 * (7 - x) : k]);
    }
  }
  EXPECT_NEAR(flips, 10, 9);
}

TEST_F(ImageFolderTest, ABadFileIsAnErrorWithItsPath) {
  directory_.write("cat/3", {'G', 'I', 'F', '8', '9', 'a'});
  const Dataset dataset = load_image_folder(path(), bytes_).dataset;
  EXPECT_EQ(dataset.size(), 6);
  EXPECT_NO_THROW(dataset.get(2));
  EXPECT_SAYS(error_of<IoError>([&] { dataset.get(3); }), path() + "/cat/3", "GIF");
}

TEST_F(ImageFolderTest, SkipsBadFilesAndListsThem) {
  directory_.write("cat/3", {'G', 'I', 'F', '8', '9', 'a'});
  Bytes cut = flat_png(1);
  cut.resize(cut.size() / 2);
  directory_.write("dog/0", cut);
  ImageFolderOptions options = bytes_;
  options.on_bad_record = OnBadRecord::skip;
  for (const int workers : {1, 3}) {
    options.workers = workers;
    const ImageFolder folder = load_image_folder(path(), options);
    EXPECT_EQ(folder.dataset.size(), 5);
    EXPECT_EQ(folder.files[3], path() + "/dog/a.png");
    EXPECT_EQ(folder.dataset.get(3).y().i32()[0], 2);
    ASSERT_EQ(folder.bad.size(), 2u);
    EXPECT_EQ(folder.bad[0].file, path() + "/cat/3");
    EXPECT_SAYS(folder.bad[0].why, "GIF", "JPEG");
    EXPECT_EQ(folder.bad[1].file, path() + "/dog/0");
  }
}

TEST_F(ImageFolderTest, SkippingEverythingIsAnError) {
  const TempFolder other;
  std::filesystem::create_directory(other.path("a"));
  other.write("a/1", {1});
  ImageFolderOptions options = bytes_;
  options.on_bad_record = OnBadRecord::skip;
  EXPECT_SAYS(error_of<IoError>([&] { load_image_folder(other.path(), options); }), "1 files",
              other.path("a/1"), "01");
}

TEST_F(ImageFolderTest, AFileThatVanishesIsAnError) {
  const Dataset dataset = load_image_folder(path(), bytes_).dataset;
  std::filesystem::remove(directory_.path("cat/2"));
  EXPECT_SAYS(error_of<IoError>([&] { dataset.get(2); }), path() + "/cat/2");
}

TEST_F(ImageFolderTest, SaysWhatIsMissing) {
  EXPECT_SAYS(error_of<IoError>([] { load_image_folder("/absent"); }), "/absent", "list",
              "No such file");
  const TempFolder other;
  EXPECT_SAYS(error_of<IoError>([&] { load_image_folder(other.path()); }), other.path(), "class");
  std::filesystem::create_directory(other.path("a"));
  EXPECT_SAYS(error_of<IoError>([&] { load_image_folder(other.path()); }), other.path(), "(a)",
              "class");
}

TEST_F(ImageFolderTest, ClutterAndEmptyFoldersAreNoImages) {
  const ImageFolder before = load_image_folder(path(), bytes_);
  for (const char* name : {"__MACOSX", "empty", "cat/@eaDir", "cat/nothing"}) {
    std::filesystem::create_directories(directory_.path(name));
  }
  for (const char* name : {"cat/Thumbs.db", "cat/desktop.ini", "cat/.DS_Store", "cat/._2",
                           "cat/@eaDir/x.jpg", "__MACOSX/y.jpg", "dog/ehthumbs.db"}) {
    directory_.write(name, {1, 2, 3});
  }
  const ImageFolder folder = load_image_folder(path(), bytes_);
  EXPECT_EQ(folder.files, before.files);
  EXPECT_EQ(folder.classes, before.classes);
  EXPECT_EQ(data::list_images(path()).empty, std::vector<std::string>{"empty"});
}

TEST_F(ImageFolderTest, PhotographsAreUpright) {
  Image stored({16, 16});
  for (int64_t y = 0; y < 16; ++y) std::fill_n(stored.row(y), 3 * 8, uint8_t{200});
  directory_.write("cat/1.jpg", turned_jpeg(encode_jpeg(stored.view(), {.quality = 100})));
  const ImageFolder folder = load_image_folder(path(), bytes_);
  const auto place = std::ranges::find(folder.files, path() + "/cat/1.jpg") - folder.files.begin();
  const Sample sample = folder.dataset.get(place);
  EXPECT_NEAR(sample.x().u8()[3 * 7], 200, 4);  // top right
  EXPECT_NEAR(sample.x().u8()[3 * 56], 0, 4);   // bottom left
}

TEST_F(ImageFolderTest, GivenClassesDecideAboutLabels) {
  ImageFolderOptions options = bytes_;
  options.classes = {"dog", "bird", "cat", "ant"};
  const ImageFolder folder = load_image_folder(path(), options);
  EXPECT_EQ(folder.classes, options.classes);
  EXPECT_EQ(folder.files[0], path() + "/dog/a.png");
  EXPECT_EQ(folder.dataset.get(0).y().i32()[0], 0);
  EXPECT_EQ(folder.dataset.get(2).y().i32()[0], 2);
  options.classes = {"dog", "cat"};
  EXPECT_SAYS(error_of<IoError>([&] { load_image_folder(path(), options); }), "'ant'", "2 classes");
}

TEST_F(ImageFolderTest, ChecksItsOptions) {
  const auto error = [&](const ImageFolderOptions& options) {
    return error_of([&] { load_image_folder(path(), options); });
  };
  EXPECT_SAYS(error({.dtype = DType::i32}), "i32", "f32 or u8");
  EXPECT_SAYS(error({.size = {0, 4}}), "0x4", "at least 1x1");
  EXPECT_SAYS(error({.short_side = 223}), "223", "224x224");
  EXPECT_SAYS(error({.workers = 0}), "0 workers", "at least 1");
}

}  // namespace
}  // namespace pando
