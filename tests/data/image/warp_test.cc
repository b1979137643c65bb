// SPDX-License-Identifier: MIT
#include "pando/data/image/warp.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

constexpr std::array<uint8_t, 4> kBorder = {1, 2, 3, 4};

Image warped(const Image& image, const AffineMap& map, Sampling sampling = Sampling::nearest) {
  Image result;
  warp(image.view(), map, sampling, kBorder, result);
  return result;
}

TEST(Warp, OfNothingIsTheImage) {
  const Image image = soft_image({11, 6});
  for (const Sampling sampling : {Sampling::nearest, Sampling::bilinear}) {
    EXPECT_EQ(warped(image, AffineMap{}, sampling).pixels, image.pixels);
    EXPECT_EQ(warped(image, rotation_map(image.size, 360), sampling).pixels, image.pixels);
  }
}

TEST(Warp, QuarterTurnsAreExact) {
  const Image image = soft_image({8, 8});
  for (const Sampling sampling : {Sampling::nearest, Sampling::bilinear}) {
    const Image turned = warped(image, rotation_map(image.size, 90), sampling);
    for (int64_t y = 0; y < 8; ++y) {
      for (int64_t x = 0; x < 8; ++x) {  // counter-clockwise: the right column becomes the top row
        ASSERT_EQ(turned.view().row(y)[3 * x], image.view().row(x)[3 * (7 - y)]);
      }
    }
  }
}

TEST(Warp, MovesAndFillsWithTheBorder) {
  const Image image = soft_image({5, 7});
  const Image moved = warped(image, translation_map(2, -1));
  for (int64_t y = 0; y < 5; ++y) {
    for (int64_t x = 0; x < 7; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        const bool inside = x >= 2 && y + 1 < 5;
        ASSERT_EQ(moved.view().row(y)[3 * x + c], inside ? image.view().row(y + 1)[3 * (x - 2) + c]
                                                         : kBorder[static_cast<size_t>(c)]);
      }
    }
  }
}

TEST(Warp, ShearsAboutTheMiddle) {
  const Image image = soft_image({9, 9});
  const Image sheared = warped(image, shear_y_map(image.size, 0.25));
  for (int64_t y = 1; y < 8; ++y) {
    EXPECT_EQ(sheared.view().row(y)[3 * 4], image.view().row(y)[3 * 4]) << "the middle column";
    EXPECT_EQ(sheared.view().row(y)[3 * 8], image.view().row(y + 1)[3 * 8]) << "the last column";
    EXPECT_EQ(sheared.view().row(y)[0], image.view().row(y - 1)[0]) << "the first column";
  }
}

// Where a picture of class numbers shows a class, its mask has that class.
TEST(Warp, MasksFollowTheirPictures) {
  const ImageSize size = {13, 21};
  Image picture(size, 1);
  std::vector<int32_t> mask(picture.pixels.size());
  for (size_t i = 0; i < mask.size(); ++i) {
    mask[i] = static_cast<int32_t>(i * 7 % 200);
    picture.pixels[i] = static_cast<uint8_t>(mask[i]);
  }
  std::vector<int32_t> moved(mask.size());
  for (const AffineMap& map : {rotation_map(size, 33), shear_x_map(size, -0.2),
                               translation_map(-3, 4), rotation_map(size, -170)}) {
    Image shown;
    warp(picture.view(), map, Sampling::nearest, {255, 0, 0, 0}, shown);
    warp_mask(mask, size, map, moved);
    int outside = 0;
    for (size_t i = 0; i < mask.size(); ++i) {
      ASSERT_EQ(moved[i], shown.pixels[i] == 255 ? -1 : shown.pixels[i]) << i;
      outside += moved[i] == -1 ? 1 : 0;
    }
    EXPECT_GT(outside, 0);
  }
}

TEST(Warp, RefusesWhatItCannotAddress) {
  Image result;
  const Image five(ImageSize{2, 2}, 5);
  EXPECT_SAYS(error_of([&] { warp(five.view(), {}, Sampling::nearest, kBorder, result); }),
              "5 channels", "1 to 4");
  const Image wide(ImageSize{1, 40000}, 1);
  EXPECT_SAYS(error_of([&] { warp(wide.view(), {}, Sampling::nearest, kBorder, result); }),
              "1x40000", "32767");
}

}  // namespace
}  // namespace pando
