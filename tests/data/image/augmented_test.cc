#include "pando/data/image/augmented.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

constexpr int64_t kCount = 40;

// Forty different images with their numbers as labels.
Dataset numbered_images(int64_t channels = 3) {
  Tensor x(DType::u8, {kCount, 8, 6, channels});
  Tensor y(DType::i32, {kCount});
  const Image base = soft_image({8, 6}, channels);
  for (int64_t i = 0; i < kCount; ++i) {
    for (size_t k = 0; k < base.pixels.size(); ++k) {
      x.u8()[static_cast<size_t>(i) * base.pixels.size() + k] =
          static_cast<uint8_t>(base.pixels[k] / 2 + 3 * i);
    }
    y.i32()[static_cast<size_t>(i)] = static_cast<int32_t>(i);
  }
  return Dataset::from_tensors(std::move(x), std::move(y));
}

std::vector<float> x_of(const Dataset& dataset, int64_t index, int64_t epoch = 0) {
  const Tensor x = cast(dataset.get(index, epoch).x(), DType::f32);
  return {x.f32().begin(), x.f32().end()};
}

TEST(AugmentImages, WithoutChoicesOnlyMapsTheValues) {
  const Dataset images = numbered_images();
  const std::vector<float> plain = x_of(images, 7);
  EXPECT_EQ(to_string(augment_images(images, {}).fields()), "x f32[8,6,3], y i32[]");
  EXPECT_EQ(to_string(augment_images(images, {.values = PixelValues::bytes}).fields()),
            "x u8[8,6,3], y i32[]");
  EXPECT_EQ(x_of(augment_images(images, {.values = PixelValues::bytes}), 7), plain);
  EXPECT_EQ(x_of(augment_images(images, {.values = PixelValues::plain}), 7), plain);
  EXPECT_NEAR(x_of(augment_images(images, {.values = PixelValues::normalised}), 7)[1],
              (plain[1] / 255 - 0.456) / 0.224, 1e-5);
  std::vector<float> standard = plain;
  standardise(standard);
  const std::vector<float> got = x_of(augment_images(images, {}), 7);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], standard[i], 1e-5);
  EXPECT_EQ(augment_images(images, {}).get(7).y().i32()[0], 7);
}

// On the host, images are standardised before the border of zeros is added, so the border does not
// affect the mean. A device standardises bytes that already have a border, so there it does.
TEST(AugmentImages, HostStandardisingLeavesTheBorderOut) {
  const Dataset images = numbered_images();
  const AugmentOptions bytes = {.values = PixelValues::bytes, .border = 4, .seed = 3};
  AugmentOptions host = bytes;
  host.values = PixelValues::standardised;
  int differ = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    std::vector<float> device = x_of(augment_images(images, bytes), i);
    const bool bordered = std::count(device.begin(), device.end(), 0.0f) > 0;
    standardise(device);
    const std::vector<float> wanted = x_of(augment_images(images, host), i);
    double largest = 0;
    for (size_t k = 0; k < device.size(); ++k) {
      largest = std::max(largest, std::abs(double{device[k]} - wanted[k]));
    }
    if (bordered) {
      EXPECT_GT(largest, 1e-2) << i;
    } else {
      EXPECT_LT(largest, 1e-4) << i;
    }
    differ += bordered ? 1 : 0;
  }
  EXPECT_GT(differ, kCount / 2);
}

TEST(AugmentImages, MirrorsOnlyWhenAsked) {
  const Dataset images = numbered_images();
  const Dataset mirrored = augment_images(images, {.values = PixelValues::bytes, .flip = true});
  int flips = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const std::vector<float> old = x_of(images, i);
    const std::vector<float> now = x_of(mirrored, i);
    if (old == now) continue;
    ++flips;
    for (size_t y = 0; y < 8; ++y) {
      for (size_t x = 0; x < 6; ++x) {
        ASSERT_EQ(now[(y * 6 + x) * 3], old[(y * 6 + 5 - x) * 3]);
      }
    }
  }
  EXPECT_NEAR(flips, kCount / 2, 12);
}

std::vector<float> mirrored(const std::vector<float>& values, size_t width, size_t channels) {
  std::vector<float> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t x = i / channels % width;
    result[i] = values[i - x * channels + (width - 1 - x) * channels];
  }
  return result;
}

// The bytes are the same whether the host or the device mirrors the images.
TEST(AugmentImages, WhatIsLeftToTheDeviceIsTheFlip) {
  for (const int64_t channels : {1, 3}) {
    for (const int64_t border : {0, 3}) {
      const Dataset images = numbered_images(channels);
      AugmentOptions options = {
          .values = PixelValues::bytes, .flip = true, .border = border, .seed = 5};
      const Dataset host = augment_images(images, options);
      options.flip_on_device = true;
      const Dataset device = augment_images(images, options);
      EXPECT_EQ(to_string(device.fields().back()), "flip u8[]");
      int flips = 0;
      for (int64_t i = 0; i < 2 * kCount; ++i) {
        const Sample sample = device.get(i % kCount, i / kCount);
        const int flip = sample.fields[2].u8()[0];
        ASSERT_LE(flip, 1);
        flips += flip;
        const std::vector<float> x = x_of(device, i % kCount, i / kCount);
        EXPECT_EQ(flip == 1 ? mirrored(x, 6, static_cast<size_t>(channels)) : x,
                  x_of(host, i % kCount, i / kCount));
        EXPECT_EQ(sample.y().i32()[0], i % kCount);
      }
      EXPECT_NEAR(flips, kCount, 20);
    }
  }
  const Dataset none = augment_images(numbered_images(), {.flip_on_device = true, .border = 2});
  for (int64_t i = 0; i < kCount; ++i) EXPECT_EQ(none.get(i).fields[2].u8()[0], 0);
}

TEST(AugmentImages, ChoosesBySeedEpochAndIndex) {
  const AugmentOptions options = {.flip = true, .border = 2, .seed = 1};
  const Dataset images = numbered_images();
  const auto all = [&](const AugmentOptions& how, int64_t epoch) {
    std::vector<float> values;
    for (int64_t i = 0; i < kCount; ++i) {
      const std::vector<float> one = x_of(augment_images(images, how), i, epoch);
      values.insert(values.end(), one.begin(), one.end());
    }
    return values;
  };
  const std::vector<float> first = all(options, 0);
  EXPECT_EQ(all(options, 0), first);
  EXPECT_NE(all(options, 1), first);
  EXPECT_NE(all({.flip = true, .border = 2, .seed = 2}, 0), first);
}

TEST(AugmentImages, BytesBecomeFractions) {
  const Dataset images = numbered_images();
  const std::vector<float> plain =
      x_of(augment_images(images, {.values = PixelValues::plain}), 1, 0);
  const std::vector<float> scaled =
      x_of(augment_images(images, {.values = PixelValues::scaled}), 1, 0);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_FLOAT_EQ(scaled[i], plain[i] / 255);
}

TEST(AugmentImages, ChecksItsArguments) {
  const Dataset floats = Dataset::from_tensors(Tensor(DType::f32, {2, 4, 4, 3}));
  EXPECT_SAYS(error_of([&] { augment_images(floats, {}); }), "field", "f32[4,4,3]",
              "u8[height,width,channels]", "1 to 4");
  EXPECT_SAYS(error_of([] { augment_images(numbered_images(), {.border = -1}); }), "border -1",
              "at least 0");
  EXPECT_SAYS(
      error_of([] { augment_images(numbered_images(1), {.values = PixelValues::normalised}); }),
      "1 channels");
}

}  // namespace
}  // namespace pando
