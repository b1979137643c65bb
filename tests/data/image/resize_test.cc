#include "pando/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

std::vector<float> resized(const ResizeRequest& request) {
  std::vector<float> values(static_cast<size_t>(request.size.pixels() * 3));
  resize_bilinear(request, PixelTarget(values, ChannelMap{}));
  return values;
}

// One row of grey pixels.
Image grey_row(const std::vector<uint8_t>& values) {
  Image image({1, static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) std::fill_n(&image.pixels[3 * i], 3, values[i]);
  return image;
}

std::vector<float> first_channel(const std::vector<float>& values) {
  std::vector<float> channel;
  for (size_t i = 0; i < values.size(); i += 3) channel.push_back(values[i]);
  return channel;
}

// The results of tf.image.resize (bilinear, half-pixel centres, no antialiasing), calculated by
// hand: 2 -> 4 reads columns -0.25, 0.25, 0.75, 1.25; 4 -> 2 reads 0.5 and 2.5.
TEST(Resize, EqualsHandComputedRows) {
  const Image two = grey_row({0, 100});
  EXPECT_EQ(first_channel(resized({two.view(), real(whole(two.size)), {1, 4}})),
            (std::vector<float>{0, 25, 75, 100}));
  const Image four = grey_row({0, 10, 20, 200});
  EXPECT_EQ(first_channel(resized({four.view(), real(whole(four.size)), {1, 2}})),
            (std::vector<float>{5, 110}));
  // 4 -> 1 reads column 1.5: without antialiasing the outer pixels do not matter.
  EXPECT_EQ(first_channel(resized({four.view(), real(whole(four.size)), {1, 1}})),
            (std::vector<float>{15}));
}

TEST(Resize, EqualsHandComputedPixels) {
  Image image(ImageSize{2, 2});
  image.pixels = {0, 10, 20, 100, 110, 120, 200, 50, 60, 40, 90, 0};
  const std::vector<float> middle = resized({image.view(), real(whole(image.size)), {1, 1}});
  EXPECT_EQ(middle, (std::vector<float>{85, 65, 50}));
  const std::vector<float> larger = resized({image.view(), real(whole(image.size)), {4, 4}});
  EXPECT_FLOAT_EQ(larger[0], 0);
  // Row and column 0.25: 0.75 * (0.75 * 0 + 0.25 * 100) + 0.25 * (0.75 * 200 + 0.25 * 40).
  EXPECT_FLOAT_EQ(larger[(1 * 4 + 1) * 3], 58.75f);
  EXPECT_FLOAT_EQ(larger[(3 * 4 + 3) * 3 + 1], 90);
}

TEST(Resize, KeepsPixelsAtTheSameSize) {
  const Image image = soft_image({7, 9});
  const std::vector<float> same = resized({image.view(), real(whole(image.size)), {7, 9}});
  for (size_t i = 0; i < same.size(); ++i) ASSERT_EQ(same[i], image.pixels[i]);
}

TEST(Resize, MirrorsTheResult) {
  const Image image = soft_image({11, 17});
  const ResizeRequest straight = {image.view(), {1.5, 2.25, 8, 12}, {6, 5}};
  ResizeRequest mirrored = straight;
  mirrored.flip = true;
  const std::vector<float> a = resized(straight);
  const std::vector<float> b = resized(mirrored);
  for (size_t y = 0; y < 6; ++y) {
    for (size_t x = 0; x < 5; ++x) {
      for (size_t c = 0; c < 3; ++c) ASSERT_EQ(a[(y * 5 + x) * 3 + c], b[(y * 5 + 4 - x) * 3 + c]);
    }
  }
}

// A box is resized as an image of its own, or together with the pixels around it.
TEST(Resize, StopsAtTheBoxOrLooksBeyond) {
  const Image image = grey_row({0, 100, 200, 50});
  ResizeRequest request = {image.view(), {0, 1, 1, 2}, {1, 4}};
  EXPECT_EQ(first_channel(resized(request)), (std::vector<float>{100, 125, 175, 200}));
  request.look_beyond_box = true;
  EXPECT_EQ(first_channel(resized(request)), (std::vector<float>{75, 125, 175, 162.5}));
}

TEST(Resize, MapsChannelsAndTruncatesBytes) {
  Image image(ImageSize{1, 2});
  image.pixels = {1, 10, 100, 2, 11, 101};
  const ResizeRequest request = {image.view(), real(whole(image.size)), {1, 1}};
  std::vector<float> values(3);
  resize_bilinear(request, PixelTarget(values, {.scale = {1, 2, 3, 1}, .shift = {0, 1, 2, 0}}));
  EXPECT_EQ(values, (std::vector<float>{1.5f, 22.0f, 303.5f}));
  std::vector<uint8_t> bytes(3);
  resize_bilinear(request, PixelTarget(bytes));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 10, 100}));
}

// Compares with the definition, for sizes that leave remainders of every vector width.
TEST(Resize, EqualsTheDefinition) {
  const Image image = soft_image({31, 45});
  for (const ImageSize size : {ImageSize{1, 1}, {3, 2}, {17, 23}, {31, 45}, {40, 67}}) {
    const RealBox box = {2, 3, 27, 38};
    const std::vector<float> got = resized({image.view(), box, size});
    const auto tap = [](double begin, double extent, int64_t i, int64_t count, double* part) {
      const double at =
          begin + (static_cast<double>(i) + 0.5) * extent / static_cast<double>(count) - 0.5;
      *part = at - std::floor(at);
      return static_cast<int64_t>(std::floor(at));
    };
    for (int64_t y = 0; y < size.height; ++y) {
      for (int64_t x = 0; x < size.width; ++x) {
        double py = 0;
        double px = 0;
        const int64_t ty = tap(2, 27, y, size.height, &py);
        const int64_t tx = tap(3, 38, x, size.width, &px);
        const auto pixel = [&](int64_t row, int64_t column) {
          return static_cast<double>(image.view().row(
              std::clamp<int64_t>(row, 2, 28))[3 * std::clamp<int64_t>(column, 3, 40) + 1]);
        };
        const double wanted = (1 - py) * ((1 - px) * pixel(ty, tx) + px * pixel(ty, tx + 1)) +
                              py * ((1 - px) * pixel(ty + 1, tx) + px * pixel(ty + 1, tx + 1));
        ASSERT_NEAR(got[static_cast<size_t>((y * size.width + x) * 3 + 1)], wanted, 1e-3);
      }
    }
  }
}

TEST(Resize, ChecksItsArguments) {
  const Image image = soft_image({4, 4});
  std::vector<float> values(12);
  const PixelTarget to(values, ChannelMap{});
  EXPECT_SAYS(error_of([&] { resize_bilinear({image.view(), {0, 1, 4, 4}, {2, 2}}, to); }), "4x4");
  EXPECT_SAYS(error_of([&] {
                resize_bilinear({image.view(), {0, 0, 4, 4}, {2, 3}}, to);
              }),
              "12 elements", "2x3", "3 channels");
  const Image grey = soft_image({4, 4}, 1);
  EXPECT_SAYS(error_of([&] {
                resize_bilinear({grey.view(), {0, 0, 4, 4}, {2, 2}}, to);
              }),
              "1 channels");
}

}  // namespace
}  // namespace pando
