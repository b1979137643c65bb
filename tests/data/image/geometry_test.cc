#include "pando/data/image/geometry.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

TEST(SampleRandom, DependsOnSeedEpochAndIndexOnly) {
  const auto first = [](uint64_t seed, int64_t epoch, int64_t index) {
    return sample_random(seed, epoch, index).next_word();
  };
  EXPECT_EQ(first(1, 2, 3), first(1, 2, 3));
  const std::set<uint32_t> words = {first(1, 2, 3), first(2, 2, 3), first(1, 3, 3),
                                    first(1, 2, 4), first(1, 3, 2), first(3, 2, 1)};
  EXPECT_EQ(words.size(), 6u);
}

TEST(RandomFlip, MirrorsHalf) {
  int flips = 0;
  for (int64_t i = 0; i < 10000; ++i) {
    RandomStream random = sample_random(7, 0, i);
    flips += random_flip(random) ? 1 : 0;
  }
  EXPECT_NEAR(flips, 5000, 200);  // four standard deviations
}

TEST(RandomCropFlip, TakesEveryPlaceEquallyOften) {
  std::vector<int> counts(2 * 9 * 9);
  constexpr int kDraws = 162 * 200;
  for (int64_t i = 0; i < kDraws; ++i) {
    RandomStream random = sample_random(7, 0, i);
    const CropFlip choice = random_crop_flip(random, {32, 32}, {32, 32}, 4);
    ASSERT_GE(choice.y, -4);
    ASSERT_LE(choice.y, 4);
    ASSERT_GE(choice.x, -4);
    ASSERT_LE(choice.x, 4);
    ++counts[static_cast<size_t>((choice.flip ? 81 : 0) + (choice.y + 4) * 9 + choice.x + 4)];
  }
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 200.0) * (count - 200.0) / 200.0;
  EXPECT_LT(chi_square, 161 + 5 * 18);  // mean + 5 standard deviations
}

TEST(RandomCropFlip, RefusesTargetsThatDoNotFit) {
  RandomStream random(1);
  EXPECT_SAYS(error_of([&] {
                random_crop_flip(random, {32, 32}, {32, 41}, 4);
              }),
              "32x41", "32x32", "border");
}

TEST(DistortedBox, KeepsItsBounds) {
  const ImageSize image = {375, 500};
  double smallest = 1;
  double largest = 0;
  for (int64_t i = 0; i < 5000; ++i) {
    RandomStream random = sample_random(3, 1, i);
    const PixelBox box = distorted_box(random, image, {});
    ASSERT_TRUE(box.inside(image)) << box;
    const double area = static_cast<double>(box.size().pixels()) / (375.0 * 500.0);
    // Without objects the whole image counts as the object, and a tenth of it must be covered.
    ASSERT_GE(area, 0.1);
    const double aspect = static_cast<double>(box.width) / static_cast<double>(box.height);
    ASSERT_GT(aspect, 0.74);
    ASSERT_LT(aspect, 1.34);
    smallest = std::min(smallest, area);
    largest = std::max(largest, area);
  }
  EXPECT_LT(smallest, 0.12);
  EXPECT_GT(largest, 0.95);
}

TEST(DistortedBox, CoversAnObject) {
  const ImageSize image = {200, 300};
  const std::vector<ObjectBox> objects = {{0.9f, 0.9f, 1.0f, 1.0f}};  // rows 180.., columns 270..
  bool small = false;
  for (int64_t i = 0; i < 2000; ++i) {
    RandomStream random = sample_random(3, 1, i);
    const PixelBox box = distorted_box(random, image, objects, {.min_object_covered = 0.5f});
    const int64_t rows = box.y + box.height - 180;
    const int64_t columns = box.x + box.width - 270;
    ASSERT_GE(rows, 1);
    ASSERT_GE(columns, 1);
    ASSERT_GE(rows * columns, 300);  // half of 20 x 30
    small = small || box.size().pixels() < image.pixels() / 8;
  }
  EXPECT_TRUE(small);  // not always the whole image
}

TEST(DistortedBox, OneOfManyObjectsIsEnoughAndEmptyOnesDoNotCount) {
  const ImageSize image = {100, 100};
  const std::vector<ObjectBox> objects = {{0.5f, 0.5f, 0.5f, 0.5f}, {0, 0, 0.1f, 0.1f}};
  for (int64_t i = 0; i < 200; ++i) {
    RandomStream random = sample_random(4, 0, i);
    const PixelBox box = distorted_box(random, image, objects, {.min_object_covered = 1.0f});
    ASSERT_EQ(box.y, 0);
    ASSERT_EQ(box.x, 0);
  }
}

TEST(DistortedBox, OnlyWhatIsInsideTheImageCounts) {
  const ImageSize image = {100, 100};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const ObjectBox& corner :
       {ObjectBox{-1e30f, -infinity, 0.1f, 0.1f}, ObjectBox{nan, nan, 0.1f, 0.1f}}) {
    RandomStream random(5);
    const PixelBox box = distorted_box(random, image, {{corner}}, {.min_object_covered = 1.0f});
    EXPECT_EQ(box.y, 0);
    EXPECT_EQ(box.x, 0);
  }
  for (const ObjectBox& all : {ObjectBox{-1, -1, 1e30f, infinity}, ObjectBox{0, 0, 1, 1}}) {
    RandomStream random(6);
    const PixelBox box = distorted_box(random, image, {{all}}, {.min_object_covered = 0.9f});
    EXPECT_GE(box.size().pixels(), 9000);
  }
  RandomStream random(7);
  const ObjectBox none = {0.1f, 0.1f, nan, nan};
  EXPECT_EQ(distorted_box(random, image, {{none}}), whole(image));
}

TEST(DistortedBox, TakesTheWholeImageWhenNothingFits) {
  const std::vector<ObjectBox> nothing = {{0.5f, 0.5f, 0.5f, 0.5f}};
  RandomStream random(1);
  EXPECT_EQ(distorted_box(random, {50, 60}, nothing), (PixelBox{0, 0, 50, 60}));
  // A single line of pixels has no box that is large enough with an allowed aspect.
  EXPECT_EQ(distorted_box(random, {1, 500}, {}), (PixelBox{0, 0, 1, 500}));
  EXPECT_EQ(distorted_box(random, {1, 1}, {}), (PixelBox{0, 0, 1, 1}));
  EXPECT_EQ(distorted_box(random, {50, 60}, {}, {.attempts = 0}), (PixelBox{0, 0, 50, 60}));
}

TEST(DistortedBox, RefusesWhatMakesNoSense) {
  RandomStream random(1);
  EXPECT_SAYS(error_of([&] { distorted_box(random, {0, 5}, {}); }), "0x5", "pixel");
  EXPECT_SAYS(error_of([&] {
                distorted_box(random, {5, 5}, {}, {.min_aspect = 2});
              }),
              "aspects", "2 to 1.33");
  EXPECT_SAYS(error_of([&] {
                distorted_box(random, {5, 5}, {}, {.max_area = 1.5f});
              }),
              "areas", "0.05 to 1.5");
}

TEST(WithShortSide, TruncatesTheLongSide) {
  EXPECT_EQ(with_short_side({375, 500}, 256), (ImageSize{256, 341}));  // 341.33
  EXPECT_EQ(with_short_side({500, 333}, 256), (ImageSize{384, 256}));  // 384.38
  EXPECT_EQ(with_short_side({333, 500}, 256), (ImageSize{256, 384}));
  EXPECT_EQ(with_short_side({100, 100}, 256), (ImageSize{256, 256}));
  // In f32, 256 / 353 * 353 is 255.99998: the short side must not be truncated to 255.
  for (int64_t side = 1; side < 3000; ++side) {
    ASSERT_EQ(with_short_side({side, side + 7}, 256).height, 256);
  }
  EXPECT_SAYS(error_of([&] { with_short_side({0, 5}, 256); }), "0x5", "256", "at least 1");
}

TEST(CentralCrop, LeavesTheOddPixelBelowAndRight) {
  EXPECT_EQ(central_crop({256, 341}, {224, 224}), (PixelBox{16, 58, 224, 224}));
  EXPECT_EQ(central_crop({5, 4}, {5, 4}), (PixelBox{0, 0, 5, 4}));
  EXPECT_SAYS(error_of([&] { central_crop({223, 341}, {224, 224}); }), "224x224", "223x341");
}

TEST(CentralBox, IsTheCropInPixelsOfTheImage) {
  const RealBox box = central_box({512, 682}, 256, {224, 224});  // exactly twice 256x341
  EXPECT_DOUBLE_EQ(box.y, 32);
  EXPECT_DOUBLE_EQ(box.x, 116);
  EXPECT_DOUBLE_EQ(box.height, 448);
  EXPECT_DOUBLE_EQ(box.width, 448);
}

}  // namespace
}  // namespace pando
