// SPDX-License-Identifier: MIT
#include "pando/data/image/changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "pando/data/image/augmented.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

constexpr ImageSize kPictureSize = {24, 20};
constexpr int kChangeDraws = 2000;

std::map<ChangeKind, int> count_kinds(const ChangeOptions& options) {
  std::map<ChangeKind, int> counts;
  for (int64_t i = 0; i < kChangeDraws; ++i) {
    const PictureChanges changes = draw_changes(options, {1, 0, i}, kPictureSize);
    for (const PictureChange& change : changes.list()) ++counts[change.kind];
  }
  return counts;
}

bool same(const PictureChanges& a, const PictureChanges& b) {
  return std::ranges::equal(a.list(), b.list(), [](const auto& x, const auto& y) {
    return x.kind == y.kind && x.amount == y.amount && x.box == y.box && x.noise_key == y.noise_key;
  });
}

TEST(DrawChanges, OfNothingIsNothing) {
  EXPECT_FALSE(ChangeOptions{}.any());
  EXPECT_TRUE(draw_changes({}, {1, 2, 3}, kPictureSize).empty());
}

TEST(DrawChanges, FollowSeedEpochAndIndexAlone) {
  const ChangeOptions options = {.flip_rows = true,
                                 .rotation = 20,
                                 .randaugment = {.operations = 3},
                                 .jitter = {0.4, 0.4, 0.4, 0.1},
                                 .erasing = 1,
                                 .erasing_fill = ErasingFill::noise};
  const PictureChanges first = draw_changes(options, {1, 2, 3}, kPictureSize);
  EXPECT_TRUE(same(first, draw_changes(options, {1, 2, 3}, kPictureSize)));
  EXPECT_FALSE(same(first, draw_changes(options, {9, 2, 3}, kPictureSize)));
  EXPECT_FALSE(same(first, draw_changes(options, {1, 9, 3}, kPictureSize)));
  EXPECT_FALSE(same(first, draw_changes(options, {1, 2, 9}, kPictureSize)));
}

// Each kind draws from numbers of its own.
TEST(DrawChanges, OneKindLeavesTheOthersAsTheyWere) {
  const ChangeOptions rotation = {.rotation = 20};
  ChangeOptions both = rotation;
  both.flip_rows = true;
  both.erasing = 1;
  for (int64_t i = 0; i < 20; ++i) {
    const float alone = draw_changes(rotation, {1, 0, i}, kPictureSize).list()[0].amount;
    const PictureChanges drawn = draw_changes(both, {1, 0, i}, kPictureSize);
    for (const PictureChange& change : drawn.list()) {
      if (change.kind != ChangeKind::rotate) continue;
      EXPECT_EQ(change.amount, alone);
    }
  }
}

TEST(DrawChanges, RotatesWithinTheRange) {
  double largest = 0;
  double sum = 0;
  for (int64_t i = 0; i < kChangeDraws; ++i) {
    const PictureChanges changes = draw_changes({.rotation = 15}, {1, 0, i}, kPictureSize);
    ASSERT_EQ(changes.list().size(), 1u);
    largest = std::max(largest, std::abs(double{changes.list()[0].amount}));
    sum += changes.list()[0].amount;
  }
  EXPECT_LE(largest, 15);
  EXPECT_GT(largest, 14.9);
  EXPECT_NEAR(sum / kChangeDraws, 0, 0.8);
}

TEST(DrawChanges, TurnsHalfOfThePicturesUpsideDown) {
  EXPECT_NEAR(count_kinds({.flip_rows = true})[ChangeKind::flip_rows], kChangeDraws / 2, 100);
}

TEST(DrawChanges, RandAugmentUsesAllOperationsAlike) {
  std::map<ChangeKind, int> counts = count_kinds({.randaugment = {.operations = 2}});
  EXPECT_EQ(counts.size(), 13u);  // identity is not a change
  for (const auto& [kind, count] : counts) {
    EXPECT_NEAR(count, 2 * kChangeDraws / 14, 80) << static_cast<int>(kind);
  }
}

TEST(DrawChanges, RandAugmentScalesWithItsMagnitude) {
  const auto amounts = [](double magnitude, ChangeKind kind) {
    std::vector<float> found;
    for (int64_t i = 0; i < kChangeDraws; ++i) {
      const ChangeOptions options = {.randaugment = {.operations = 1, .magnitude = magnitude}};
      const PictureChanges drawn = draw_changes(options, {1, 0, i}, kPictureSize);
      for (const PictureChange& change : drawn.list()) {
        if (change.kind == kind) found.push_back(change.amount);
      }
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  EXPECT_EQ(amounts(30, ChangeKind::rotate), (std::vector<float>{-30, 30}));
  EXPECT_EQ(amounts(10, ChangeKind::rotate), (std::vector<float>{-10, 10}));
  EXPECT_EQ(amounts(30, ChangeKind::posterize), (std::vector<float>{4}));
  EXPECT_EQ(amounts(0, ChangeKind::posterize), (std::vector<float>{8}));
  EXPECT_EQ(amounts(30, ChangeKind::solarize), (std::vector<float>{0}));
  EXPECT_EQ(amounts(0, ChangeKind::solarize), (std::vector<float>{255}));
  EXPECT_EQ(amounts(30, ChangeKind::saturation), (std::vector<float>{0.1f, 1.9f}));
  EXPECT_EQ(amounts(30, ChangeKind::shear_x), (std::vector<float>{-0.3f, 0.3f}));
}

TEST(DrawChanges, JitterComesInEveryOrderAndWithinItsStrengths) {
  const std::map<ChangeKind, std::pair<double, double>> ranges = {
      {ChangeKind::brightness, {1, 0.4}},
      {ChangeKind::contrast, {1.5, 1.5}},  // factors are not negative
      {ChangeKind::saturation, {1, 0.2}},
      {ChangeKind::hue, {0, 0.1}}};
  std::map<std::vector<ChangeKind>, int> orders;
  for (int64_t i = 0; i < kChangeDraws; ++i) {
    const ChangeOptions options = {.jitter = {0.4, 2, 0.2, 0.1}};
    std::vector<ChangeKind> order;
    const PictureChanges drawn = draw_changes(options, {1, 0, i}, kPictureSize);
    for (const PictureChange& change : drawn.list()) {
      order.push_back(change.kind);
      const auto [middle, reach] = ranges.at(change.kind);
      EXPECT_NEAR(change.amount, middle, reach + 1e-6);
    }
    ASSERT_EQ(order.size(), 4u);
    ++orders[order];
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, kChangeDraws / 24, 40);
}

TEST(DrawChanges, ErasesRectanglesOfTheUsualSizes) {
  int erased = 0;
  for (int64_t i = 0; i < kChangeDraws; ++i) {
    const PictureChanges changes = draw_changes({.erasing = 0.25}, {1, 0, i}, {64, 64});
    if (changes.empty()) continue;
    ++erased;
    const PixelBox& box = changes.list()[0].box;
    EXPECT_TRUE(box.inside({64, 64}));
    const double area = static_cast<double>(box.height * box.width) / (64 * 64);
    EXPECT_GT(area, 0.015);
    EXPECT_LT(area, 0.345);
    const double aspect = static_cast<double>(box.height) / static_cast<double>(box.width);
    EXPECT_GT(aspect, 0.25);
    EXPECT_LT(aspect, 3.8);
    EXPECT_EQ(changes.list()[0].noise_key, 0u);
  }
  EXPECT_NEAR(erased, kChangeDraws / 4, 100);
}

TEST(ChangePicture, ErasesWithTheMeanOrNoise) {
  const Image before = soft_image({30, 30});
  PictureChanges mean;
  mean.add({.kind = ChangeKind::erase, .box = {2, 3, 10, 20}});
  PictureChanges noise;
  noise.add({.kind = ChangeKind::erase, .box = {2, 3, 10, 20}, .noise_key = 77});
  Image filled = before;
  change_picture(mean, filled);
  Image noisy = before;
  change_picture(noise, noisy);
  Image again = before;
  change_picture(noise, again);
  EXPECT_EQ(noisy.pixels, again.pixels);
  std::array<double, 3> sums{};
  for (size_t i = 0; i < before.pixels.size(); ++i) sums[i % 3] += before.pixels[i];
  int64_t changed = 0;
  for (int64_t y = 0; y < 30; ++y) {
    for (int64_t x = 0; x < 30; ++x) {
      const bool inside = y >= 2 && y < 12 && x >= 3 && x < 23;
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t at = 3 * x + c;
        if (inside) {
          EXPECT_EQ(filled.row(y)[at], std::lround(sums[static_cast<size_t>(c)] / 900));
          changed += noisy.row(y)[at] != before.view().row(y)[at] ? 1 : 0;
        } else {
          ASSERT_EQ(filled.row(y)[at], before.view().row(y)[at]);
          ASSERT_EQ(noisy.row(y)[at], before.view().row(y)[at]);
        }
      }
    }
  }
  EXPECT_GT(changed, 570);  // of 600; some bytes of noise equal the old ones
}

// A picture whose pixels are class numbers, and its mask, stay together. A bilinear picture has the
// number of the mask wherever all neighbours have the same one.
TEST(ChangeMask, MovesWithItsPicture) {
  const ImageSize size = {48, 64};
  Image picture(size, 1);
  std::vector<int32_t> mask(picture.pixels.size());
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      const bool inside = y >= 8 && y < 28 && x >= 10 && x < 50;
      picture.row(y)[x] = inside ? 200 : 0;
      mask[static_cast<size_t>(y * size.width + x)] = inside ? 1 : 0;
    }
  }
  const ChangeOptions options = {
      .flip_rows = true, .rotation = 30, .randaugment = {.operations = 1}};
  int compared = 0;
  for (int64_t i = 0; i < 40; ++i) {
    PictureChanges moves;  // without changes of colour, so that classes stay readable
    const PictureChanges drawn = draw_changes(options, {3, 0, i}, size);
    for (const PictureChange& change : drawn.list()) {
      const bool moving = change.kind <= ChangeKind::translate_y;
      if (moving) moves.add(change);
    }
    Image changed = picture;
    std::vector<int32_t> labels = mask;
    change_picture(moves, changed);
    change_mask(moves, size, labels);
    for (size_t p = 0; p < labels.size(); ++p) {
      if (changed.pixels[p] == 200) {
        ASSERT_EQ(labels[p], 1) << "sample " << i << ", pixel " << p;
        ++compared;
      } else if (changed.pixels[p] == 0) {
        ASSERT_EQ(labels[p], 0) << "sample " << i << ", pixel " << p;
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

TEST(ChangeMask, StaysWhereOnlyColoursChange) {
  std::vector<int32_t> mask = {0, 1, 2, 3, -1, 5};
  const std::vector<int32_t> before = mask;
  const ChangeOptions options = {.jitter = {0.4, 0.4, 0.4, 0.1}, .erasing = 1};
  for (int64_t i = 0; i < 10; ++i) {
    change_mask(draw_changes(options, {1, 0, i}, {2, 3}), {2, 3}, mask);
    EXPECT_EQ(mask, before);
  }
}

TEST(ChangeOptions, AreChecked) {
  const auto message = [](const ChangeOptions& options) {
    return error_of([&] { check_changes(options, "here"); });
  };
  EXPECT_SAYS(message({.rotation = 181}), "here", "rotation 181", "0 to 180");
  EXPECT_SAYS(message({.rotation = -1}), "rotation -1");
  EXPECT_SAYS(message({.jitter = {.hue = 0.6}}), "hue 0.6", "0.5");
  EXPECT_SAYS(message({.jitter = {.contrast = NAN}}), "contrast nan");
  EXPECT_SAYS(message({.erasing = 2}), "erasing 2", "0 to 1");
  EXPECT_SAYS(message({.randaugment = {.operations = 17}}), "operations", "17", "16");
  EXPECT_SAYS(message({.randaugment = {.operations = 1, .magnitude = 31}}), "magnitude", "31");
}

Dataset two_pictures(int64_t channels = 3) {
  Tensor x(DType::u8, {2, 20, 20, channels});
  const Image image = soft_image({40, 20}, channels);
  std::ranges::copy(image.pixels, x.u8().begin());
  return Dataset::from_tensors(std::move(x));
}

TEST(AugmentImages, ChangesPicturesBeforeCroppingThem) {
  const Dataset images = two_pictures();
  const AugmentOptions crop = {.values = PixelValues::bytes, .border = 2, .seed = 4};
  AugmentOptions both = crop;
  both.changes = {.flip_rows = true, .jitter = {.brightness = 0.5}};
  for (int64_t i = 0; i < 2; ++i) {
    Image changed(ImageSize{20, 20});
    std::ranges::copy(images.get(i).x().u8(), changed.pixels.begin());
    change_picture(draw_changes(both.changes, {4, 3, i}, {20, 20}), changed);
    Tensor x(DType::u8, {2, 20, 20, 3});
    for (int64_t k = 0; k < 2; ++k) {
      std::ranges::copy(changed.pixels, x.u8().begin() + k * 1200);
    }
    const Dataset again = augment_images(Dataset::from_tensors(std::move(x)), crop);
    EXPECT_TRUE(std::ranges::equal(augment_images(images, both).get(i, 3).x().u8(),
                                   again.get(i, 3).x().u8()));
  }
}

// A picture that shows its classes, and its mask, after everything that moves pixels.
TEST(AugmentImages, MovesMasksWithTheirPictures) {
  Tensor x(DType::u8, {1, 20, 24, 1});
  Tensor y(DType::i32, {1, 20, 24});
  for (size_t i = 0; i < 480; ++i) {
    y.i32()[i] = static_cast<int32_t>(i / 24 / 7 + 3 * (i % 24 / 9));
    x.u8()[i] = static_cast<uint8_t>(20 + 20 * y.i32()[i]);
  }
  const Dataset data = Dataset::from_tensors(std::move(x), std::move(y));
  AugmentOptions options = {.values = PixelValues::bytes, .flip = true, .border = 3, .seed = 2};
  for (const bool rotates : {false, true}) {
    if (rotates) options.changes = {.flip_rows = true, .rotation = 25};
    const Dataset moved = augment_images(data, options);
    EXPECT_EQ(to_string(moved.fields()), "x u8[20,24,1], y i32[20,24]");
    int outside = 0;
    int right = 0;
    for (int64_t epoch = 0; epoch < 20; ++epoch) {
      const Sample sample = moved.get(0, epoch);
      for (size_t i = 0; i < 480; ++i) {
        const int32_t label = sample.y().i32()[i];
        const int shown = sample.x().u8()[i];
        if (label == -1) {
          ++outside;
        } else if (!rotates) {
          ASSERT_EQ(shown, 20 + 20 * label);
        } else {
          right += std::abs(shown - 20 - 20 * label) <= 1 ? 1 : 0;
        }
      }
    }
    EXPECT_GT(outside, 200);
    // Pixels at the edges of classes are blended.
    EXPECT_GT(right, rotates ? 20 * 480 / 2 : -1);
  }
  const Dataset plain = augment_images(data, {.values = PixelValues::bytes});
  EXPECT_TRUE(std::ranges::equal(plain.get(0).y().i32(), data.get(0).y().i32()));
}

TEST(AugmentImages, RefusesChangesOfUnknownChannels) {
  AugmentOptions options;
  options.changes.rotation = 5;
  EXPECT_SAYS(error_of([&] { augment_images(two_pictures(2), options); }), "2 channels", "1 or 3");
  options.changes.rotation = 500;
  EXPECT_SAYS(error_of([&] { augment_images(two_pictures(), options); }), "augment images",
              "rotation 500");
}

}  // namespace
}  // namespace pando
