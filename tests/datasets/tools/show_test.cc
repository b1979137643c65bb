// Contact sheets of data sets.
// SPDX-License-Identifier: MIT
#include "pando/datasets/tools/show.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "pando/data/sources/cosmoflow.h"
#include "tests/data/cifar_files.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

class ShowCifar : public testing::Test {
 protected:
  ShowCifar() { write_cifar10_binary(folder_.path(), random_files()); }
  std::vector<uint8_t> pixels(const ShowOptions& options) const {
    return show_dataset("cifar10", folder_.path(), options).pixels;
  }

  TempFolder folder_;
};

TEST_F(ShowCifar, ShowsAsManyAsThereAre) {
  // Thirteen training images in two rows; "automobile" needs tiles of 120 pixels, so 32 become 128.
  EXPECT_EQ(show_dataset("cifar10", folder_.path()).size,
            (ImageSize{2 * (6 + 128 + 18) + 6, 8 * (128 + 6) + 6}));
  // Names of up to eight letters leave them at 96.
  EXPECT_EQ(show_dataset("cifar10", folder_.path(), {.samples = 3, .columns = 2}).size,
            (ImageSize{2 * (6 + 96 + 18) + 6, 2 * (96 + 6) + 6}));
  EXPECT_EQ(show_dataset("cifar10", folder_.path(), {.columns = 4, .test = true}).size.height,
            6 + 96 + 18 + 6);
}

TEST_F(ShowCifar, IsAFunctionOfItsOptions) {
  const auto usual = pixels({});
  EXPECT_EQ(pixels({}), usual);
  EXPECT_NE(pixels({.augment = false}), usual);
  EXPECT_NE(pixels({.epoch = 1}), usual);
  EXPECT_NE(pixels({.seed = 1}), usual);
}

TEST_F(ShowCifar, RefusesWhatMakesNoSense) {
  EXPECT_SAYS(error_of([&] { pixels({.samples = 0}); }), "show: 0 samples");
  EXPECT_SAYS(error_of([&] { pixels({.epoch = -1}); }), "show: epoch -1");
  EXPECT_SAYS(error_of([&] { pixels({.columns = 0}); }), "0 columns");
  EXPECT_SAYS(error_of([] { show_dataset("cifar", "x"); }), "'cifar'");
  EXPECT_SAYS(error_of<Unsupported>([] { show_dataset("tfrecord", "x"); }), "have no pictures");
}

TEST(ShowDataset, Cifar100AndMnist) {
  const TempFolder folder;
  write_cifar100_binary(folder.path(), random_files(100));
  EXPECT_EQ(show_dataset("cifar100", folder.path(), {.samples = 1}).size.height % 32, 30);
  for (const char* part : {"train", "t10k"}) {
    folder.write(concat(part, "-images-idx3-ubyte"),
                 idx_header(8, {5, 28, 28}) + counting_bytes(5 * 28 * 28));
    folder.write(concat(part, "-labels-idx1-ubyte"), idx_header(8, {5}) + counting_bytes(5));
  }
  EXPECT_EQ(show_dataset("mnist", folder.path()).size, (ImageSize{6 + 112 + 18 + 6, 5 * 118 + 6}));
  // "t-shirt/top" needs 132 pixels, so 28 become 140.
  EXPECT_EQ(show_dataset("fashion_mnist", folder.path(), {.test = true}).size.height,
            6 + 140 + 18 + 6);
}

TEST(ShowDataset, ImageFolder) {
  const TempFolder folder;
  for (const char* name : {"train/cat", "train/dog", "val/cat"}) {
    std::filesystem::create_directories(folder.path(name));
    folder.write(concat(name, "/1.jpg"), encode_jpeg(soft_image({70, 50}).view()));
  }
  const Image train = show_dataset("image_folder", folder.path());
  EXPECT_EQ(train.size, (ImageSize{6 + 224 + 18 + 6, 2 * 230 + 6}));
  EXPECT_NE(show_dataset("image_folder", folder.path(), {.augment = false}).pixels, train.pixels);
  EXPECT_EQ(show_dataset("image_folder", folder.path(), {.test = true}).size.width, 230 + 6);
  EXPECT_SAYS(error_of([&] { show_dataset("image_folder", folder.path("train"), {.test = true}); }),
              "part", "testing");
}

TEST(ShowDataset, CosmoflowAsSlicesOfItsChannels) {
  const TempFolder folder;
  std::vector<int16_t> counts(4 * 4 * 4 * 4, 0);
  // The middle slice has depth 2; channel 3 has one bright voxel at row 1, column 2.
  counts[((2 * 4 + 1) * 4 + 2) * 4 + 3] = 100;
  counts[((1 * 4 + 1) * 4 + 1) * 4 + 3] = 100;  // in another slice
  const std::vector<float> targets = {0.25f, -0.5f, 1, 0};
  write_cosmoflow_sample(folder.path("a.tfrecord"), {counts, targets});
  const Image sheet = show_dataset("cosmoflow", folder.path());
  // ".25 -.50 1.00 .00" is 17 letters, 204 pixels: the 9 of two slices and a line become 207.
  ASSERT_EQ(sheet.size, (ImageSize{6 + 207 + 18 + 6, 6 + 207 + 6}));
  const auto at = [&](int64_t row, int64_t column) {
    return sheet.view().row(6 + 23 * row + 11)[3 * (6 + 23 * column + 11)];
  };
  EXPECT_EQ(at(5 + 1, 5 + 2), 255);
  EXPECT_EQ(at(5 + 1, 5 + 1), 0);
  EXPECT_EQ(at(1, 2), 0);   // channel 0
  EXPECT_EQ(at(4, 4), 96);  // the line between them
}

}  // namespace
}  // namespace pando
