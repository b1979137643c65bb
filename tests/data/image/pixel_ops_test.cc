// SPDX-License-Identifier: MIT
#include "pando/data/image/pixel_ops.h"

#include <fstream>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "pando/data/image/warp.h"
#include "tests/data/foreign_software.h"
#include "tests/data/test_images.h"

namespace pando {
namespace {

using testing_support::kMissingPackage;
using testing_support::run_python;

constexpr std::array<uint8_t, 4> kBlack = {0, 0, 0, 0};

Image one_pixel(uint8_t red, uint8_t green, uint8_t blue) {
  Image image(ImageSize{1, 1});
  image.pixels = {red, green, blue};
  return image;
}

void rotate(Image& image, double degrees, Sampling sampling) {
  Image rotated;
  warp(image.view(), rotation_map(image.size, degrees), sampling, kBlack, rotated);
  image = rotated;
}

void apply(const std::string& name, double amount, Image& image) {
  Image spare;
  const auto factor = static_cast<float>(amount);
  if (name == "brightness") return adjust_brightness(image, factor);
  if (name == "contrast") return adjust_contrast(image, factor);
  if (name == "saturation") return adjust_saturation(image, factor);
  if (name == "sharpness") return adjust_sharpness(image, factor, spare);
  if (name == "auto_contrast") return auto_contrast(image);
  if (name == "equalize") return equalize(image);
  if (name == "posterize") return posterize(image, static_cast<int>(amount));
  if (name == "solarize") return solarize(image, static_cast<int>(amount));
  if (name == "rotate_nearest") return rotate(image, amount, Sampling::nearest);
  if (name == "rotate_bilinear") return rotate(image, amount, Sampling::bilinear);
  ASSERT_EQ(name, "shear_x_nearest");
  Image sheared;
  warp(image.view(), shear_x_map(image.size, amount), Sampling::nearest, kBlack, sheared);
  image = sheared;
}

// Tables, nearest pixels and sums of whole numbers give the same bytes. What is blended as floats
// may round to the neighbour, where a processor has fused additions.
int allowed_difference(const std::string& name) {
  const bool blended = name == "saturation" || name == "sharpness" || name == "rotate_bilinear";
  return blended ? 1 : 0;
}

TEST(PixelOps, AgreeWithPil) {
  const TempFolder folder;
  const auto result = run_python("pil_changes.py", "'" + folder.path() + "'");
  if (result.exit_code == kMissingPackage) {
    GTEST_SKIP() << "no PIL in Python; on Debian install python3-pil and python3-numpy";
  }
  ASSERT_EQ(result.exit_code, 0);
  std::ifstream cases(folder.path("cases.txt"));
  std::string number;
  std::string name;
  double amount = 0;
  ImageSize size;
  int64_t channels = 0;
  std::map<std::string, int> compared;
  while (cases >> number >> name >> amount >> size.height >> size.width >> channels) {
    Image image(size, channels);
    image.pixels = read_bytes(folder.path(number + ".before"));
    ASSERT_EQ(image.pixels.size(), static_cast<size_t>(size.pixels() * channels));
    apply(name, amount, image);
    EXPECT_LE(largest_difference(image.pixels, read_bytes(folder.path(number + ".after"))),
              allowed_difference(name))
        << name << " " << amount << " of " << size << "x" << channels;
    ++compared[name];
  }
  EXPECT_EQ(compared.size(), 11);
}

TEST(PixelOps, HueTurnsPureColoursIntoEachOther) {
  Image red = one_pixel(200, 0, 0);
  shift_hue(red, 1.0f / 3);
  EXPECT_EQ(red.pixels, (Bytes{0, 200, 0}));
  shift_hue(red, 1.0f / 3);
  EXPECT_EQ(red.pixels, (Bytes{0, 0, 200}));
  shift_hue(red, -0.5f);
  EXPECT_EQ(red.pixels, (Bytes{200, 200, 0}));
  Image pale = one_pixel(120, 100, 80);
  shift_hue(pale, 0.5f);
  EXPECT_EQ(pale.pixels, (Bytes{80, 100, 120}));
}

TEST(PixelOps, HueOfNoTurnAndOfGreyStays) {
  const Image before = soft_image({9, 7});
  Image image = before;
  shift_hue(image, 0);
  EXPECT_EQ(image.pixels, before.pixels);
  Image grey = soft_image({9, 7}, 1);
  const Bytes kept = grey.pixels;
  shift_hue(grey, 0.3f);
  adjust_saturation(grey, 0);
  EXPECT_EQ(grey.pixels, kept);
}

}  // namespace
}  // namespace pando
