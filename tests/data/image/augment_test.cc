#include "pando/data/image/augment.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "pando/data/dataset.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

// The specification of crop_flip, one element at a time.
float wanted_value(const Image& image, const CropFlip& choice, const PixelBox& at_channel,
                   const ChannelMap& map) {
  const int64_t y = choice.y + at_channel.y;
  const int64_t x = choice.x + at_channel.x;
  const auto c = static_cast<size_t>(at_channel.height);
  if (y < 0 || y >= image.size.height || x < 0 || x >= image.size.width) return map.border[c];
  const int64_t column = choice.flip ? image.size.width - 1 - x : x;
  const uint8_t pixel = image.view().row(y)[column * image.channels + static_cast<int64_t>(c)];
  return static_cast<float>(pixel) * map.scale[c] + map.shift[c];
}

void expect_right_crop(const Image& image, const CropFlip& choice, const ImageSize& size) {
  const ChannelMap map = {.scale = {2, 0.5f, -1, 3}, .shift = {1, 2, 3, 4}, .border = {7, 8, 9, 5}};
  const ChannelMap plain;
  std::vector<float> values(static_cast<size_t>(size.pixels() * image.channels), -1000.0f);
  std::vector<uint8_t> bytes(values.size(), 250);
  crop_flip(image.view(), choice, size, PixelTarget(values, map));
  crop_flip(image.view(), choice, size, PixelTarget(bytes));
  size_t i = 0;
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      for (int64_t c = 0; c < image.channels; ++c, ++i) {
        ASSERT_FLOAT_EQ(values[i], wanted_value(image, choice, {y, x, c, 0}, map))
            << image.size << " to " << size << " at " << y << ", " << x << ", " << c;
        ASSERT_EQ(static_cast<float>(bytes[i]), wanted_value(image, choice, {y, x, c, 0}, plain));
      }
    }
  }
}

TEST(CropFlip, WritesThePixelsOfEveryPlace) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    for (const ImageSize size : {ImageSize{1, 1}, {3, 2}, {5, 9}}) {
      const Image image = soft_image(size, channels);
      for (int64_t y = -6; y <= 6; y += 3) {
        for (int64_t x = -11; x <= 10; ++x) {
          for (const bool flip : {false, true}) expect_right_crop(image, {y, x, flip}, {4, 3});
        }
      }
      expect_right_crop(image, {0, 0, true}, size);
      expect_right_crop(image, {}, size);
    }
  }
}

TEST(CropFlip, ChecksItsArguments) {
  std::vector<float> values(26);
  const Image image = soft_image({3, 3});
  EXPECT_SAYS(error_of([&] {
                crop_flip(image.view(), {}, {3, 3}, PixelTarget(values, ChannelMap{}));
              }),
              "crop_flip", "26 elements", "3x3", "3 channels");
  const Image five(ImageSize{1, 1}, 5);
  EXPECT_SAYS(error_of([&] {
                crop_flip(five.view(), {}, {1, 1}, PixelTarget(values, ChannelMap{}));
              }),
              "crop_flip", "5 channels", "1 to 4");
}

TEST(Normalise, IsTheFormula) {
  const ChannelMap map = normalise_imagenet();
  EXPECT_NEAR(128 * map.scale[0] + map.shift[0], (128 / 255.0 - 0.485) / 0.229, 1e-6);
  EXPECT_NEAR(255 * map.scale[1] + map.shift[1], (1 - 0.456) / 0.224, 1e-6);
  EXPECT_NEAR(0 * map.scale[2] + map.shift[2], -0.406 / 0.225, 1e-6);
  EXPECT_EQ(map.border[0], 0);
  EXPECT_SAYS(error_of([] {
                normalise_channels({0, 0, 0}, {1, 0, 1});
              }),
              "deviation 0", "channel 1");
}

TEST(Standardise, HasMeanZeroAndDeviationOne) {
  const Image image = soft_image({32, 32});
  std::vector<float> values(3072);
  crop_flip(image.view(), {}, {32, 32}, PixelTarget(values, standardise(image.view())));
  double sum = 0;
  double squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 3072, 0, 1e-5);
  EXPECT_NEAR(squares / 3072, 1, 1e-5);  // population variance: divided by the full count

  std::vector<float> floats(image.pixels.begin(), image.pixels.end());
  standardise(floats);
  for (size_t i = 0; i < floats.size(); ++i) ASSERT_NEAR(floats[i], values[i], 1e-5);
}

TEST(Standardise, WorksOutByHand) {
  Image image(ImageSize{1, 2}, 1);
  image.pixels = {10, 30};  // mean 20, deviation 10
  std::vector<float> values(4);
  crop_flip(image.view(), {.x = -1}, {1, 4}, PixelTarget(values, standardise(image.view())));
  EXPECT_FLOAT_EQ(values[1], -1);
  EXPECT_FLOAT_EQ(values[2], 1);
  EXPECT_EQ(values[0], 0);  // the border is added after standardising and is zero
  EXPECT_EQ(values[3], 0);
}

TEST(Standardise, TurnsOneColourIntoZeros) {
  Image image(ImageSize{4, 4});
  std::fill(image.pixels.begin(), image.pixels.end(), uint8_t{200});
  std::vector<float> values(48, 5);
  crop_flip(image.view(), {}, {4, 4}, PixelTarget(values, standardise(image.view())));
  for (const float value : values) ASSERT_EQ(value, 0);
  std::fill(values.begin(), values.end(), 5.0f);
  standardise(values);
  for (const float value : values) ASSERT_EQ(value, 0);
}

TEST(Standardise, TurnsOneColourButForRoundingsIntoZeros) {
  for (const float other : {0.1f, std::nextafter(0.1f, 1.0f)}) {
    std::vector<float> values(1000, 0.1f);
    for (size_t i = 0; i < values.size(); i += 3) values[i] = other;
    standardise(values);
    for (const float value : values) ASSERT_EQ(value, 0);
  }
}

TEST(Standardise, SumsLargeImages) {
  Image image(ImageSize{3000, 1000}, 1);  // sums of squares need more than 32 bits
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = i % 2 == 0 ? 255 : 245;
  const ChannelMap map = standardise(image.view());
  EXPECT_FLOAT_EQ(map.scale[0], 0.2f);
  EXPECT_FLOAT_EQ(map.shift[0], -50.0f);
}

// The batches of an augmented data set, gathered by `workers` workers.
std::vector<float> augmented(int workers) {
  const Image image = soft_image({32, 32});
  const Dataset dataset =
      Dataset::generate(100, {{"x", DType::f32, {32, 32, 3}}}, [&](const SampleView& sample) {
        RandomStream random = sample_random(11, sample.epoch(), sample.index());
        const CropFlip choice = random_crop_flip(random, image.size, {32, 32}, 4);
        crop_flip(image.view(), choice, {32, 32},
                  PixelTarget(sample.f32(0), standardise(image.view())));
      });
  auto stream =
      dataset.shuffle({.seed = 5}).batch(8).repeat(2).prefetch(workers * 2, {.workers = workers});
  std::vector<float> all;
  while (auto batch = stream.next()) {
    const auto values = batch->fields[0].f32();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(Augment, GivesTheSameBytesForAnyNumberOfWorkers) {
  const std::vector<float> one = augmented(1);
  EXPECT_EQ(one.size(), 2u * 13 * 8 * 3072);
  EXPECT_EQ(augmented(2), one);
  EXPECT_EQ(augmented(5), one);
  const size_t epoch = one.size() / 2;
  EXPECT_FALSE(std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(epoch),
                          one.begin() + static_cast<std::ptrdiff_t>(epoch)));
}

}  // namespace
}  // namespace pando
