// SPDX-License-Identifier: MIT
#include "pando/data/picture_sheet.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pando/base/error.h"

namespace pando {
namespace {

// A picture of one value, and another one at its first pixel, so that scaling keeps both.
Tensor bytes_of(const Shape& shape, uint8_t value) {
  Tensor x(DType::u8, shape);
  std::ranges::fill(x.u8(), value);
  return x;
}

TEST(PictureSheet, PutsPicturesSideBySide) {
  const Shape shape{2, 3, 1};
  const PictureSheet sheet = picture_sheet(
      shape, 3, [&](int64_t i) { return bytes_of(shape, static_cast<uint8_t>(10 * (i + 1))); });
  EXPECT_EQ(sheet.tile, (ImageSize{2, 3}));
  EXPECT_EQ(sheet.columns, 2);
  ASSERT_EQ(sheet.image.size, (ImageSize{4, 6}));
  EXPECT_EQ(sheet.image.channels, 1);
  const ImageView view = sheet.image.view();
  EXPECT_EQ(view.row(0)[0], 10);
  EXPECT_EQ(view.row(1)[5], 20);
  EXPECT_EQ(view.row(3)[2], 30);
  EXPECT_EQ(view.row(3)[3], 0);  // there is no fourth
}

TEST(PictureSheet, ReducesLargePicturesToMeans) {
  const Shape shape{4, 8, 3};
  const PictureSheet sheet = picture_sheet(shape, 1,
                                           [&](int64_t) {
                                             Tensor x = bytes_of(shape, 0);
                                             for (int64_t i = 0; i < x.elements(); i += 3)
                                               x.u8()[static_cast<size_t>(i)] = 100;
                                             x.u8()[0] = 200;
                                             return x;
                                           },
                                           {.most_side = 4});
  ASSERT_EQ(sheet.image.size, (ImageSize{2, 4}));
  EXPECT_EQ(sheet.image.channels, 3);
  EXPECT_EQ(sheet.image.pixels[0], 125);  // of 200, 100, 100, 100
  EXPECT_EQ(sheet.image.pixels[1], 0);
  EXPECT_EQ(sheet.image.pixels[3], 100);
}

TEST(PictureSheet, IsBounded) {
  const Shape shape{224, 224, 3};
  const int64_t most = sheet_capacity(shape);
  EXPECT_EQ(most, (1 << 20) / (48 * 48 * 3));
  EXPECT_EQ(sheet_capacity(Shape{2000, 1, 1}, {.most_side = 48, .most_bytes = 1}), 1);
  EXPECT_THROW(picture_sheet(shape, most + 1, [&](int64_t) { return bytes_of(shape, 0); }), Error);
}

TEST(PictureSheet, KnowsWhatIsAPicture) {
  EXPECT_TRUE(is_picture(Shape{28, 28, 1}, DType::f32));
  EXPECT_TRUE(is_picture(Shape{8, 8, 5}, DType::u8));
  EXPECT_FALSE(is_picture(Shape{28, 28}, DType::f32));
  EXPECT_FALSE(is_picture(Shape{4, 28, 28, 1}, DType::f32));
  EXPECT_FALSE(is_picture(Shape{28, 28, 1}, DType::i32));
}

}  // namespace
}  // namespace pando
