// SPDX-License-Identifier: MIT
#include "pando/data/image/mask.h"

#include <gtest/gtest.h>

#include "pando/data/image/png.h"
#include "tests/data/png_files.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

Image mask_of(const Bytes& file) {
  Image mask;
  read_mask(file, "m.png", {}, mask);
  return mask;
}

TEST(Mask, GreyValuesAndPlacesInAPaletteAreClassNumbers) {
  const Bytes numbers = {0, 1, 2, 255, 17, 254};
  for (const uint8_t colour : {uint8_t{0}, uint8_t{3}}) {
    const Image mask =
        mask_of(png_file({.height = 2, .width = 3, .colour = colour, .rows = numbers}));
    EXPECT_EQ(mask.size, (ImageSize{2, 3}));
    EXPECT_EQ(mask.channels, 1);
    EXPECT_EQ(mask.pixels, numbers);
  }
}

// Readers of pictures would scale 1 of 4 bits to 17.
TEST(Mask, FewBitsAreNotScaled) {
  for (const uint8_t colour : {uint8_t{0}, uint8_t{3}}) {
    const auto read = [&](uint8_t depth, const Bytes& rows) {
      return mask_of(png_file(
                         {.height = 2, .width = 3, .depth = depth, .colour = colour, .rows = rows}))
          .pixels;
    };
    EXPECT_EQ(read(1, {0b10100000, 0b01000000}), (Bytes{1, 0, 1, 0, 1, 0}));
    EXPECT_EQ(read(2, {0b11100100, 0b00011000}), (Bytes{3, 2, 1, 0, 1, 2}));
    EXPECT_EQ(read(4, {0x1f, 0x20, 0x03, 0x90}), (Bytes{1, 15, 2, 0, 3, 9}));
  }
}

TEST(Mask, OtherImagesAreRefused) {
  const auto refusal = [](const Bytes& file) { return error_of<IoError>([&] { mask_of(file); }); };
  EXPECT_SAYS(refusal(encode_png(soft_image({4, 4}).view())), "m.png: ", "class number", "grey PNG",
              "palette", "colours");
  EXPECT_SAYS(refusal(png_file({.height = 1, .width = 1, .colour = 4, .rows = {1, 2}})),
              "transparency");
  EXPECT_SAYS(refusal(png_file({.height = 1, .width = 1, .depth = 16, .rows = {1, 2}})), "16 bits");
  EXPECT_SAYS(refusal(encode_jpeg(soft_image({8, 8}).view())), "m.png: ", "expected a PNG", "JPEG");
  EXPECT_SAYS(refusal({'h', 'i'}), "expected a PNG", "another file");
  Bytes cut = png_file({.height = 2, .width = 2, .rows = {1, 2, 3, 4}});
  cut.resize(cut.size() - 20);
  EXPECT_SAYS(refusal(cut), "m.png: ", "damaged PNG");
}

std::vector<int32_t> resized_mask(const MaskView& view, int32_t last = kNotLabelled) {
  std::vector<int32_t> to(static_cast<size_t>(view.size.pixels()));
  resize_mask(view, mask_classes(last), to);
  return to;
}

TEST(Mask, IsResizedToTheNearestPixel) {
  Image mask({2, 4}, 1);
  mask.pixels = {1, 2, 3, 255, 5, 6, 7, 8};
  const RealBox all = real(whole(mask.size));
  EXPECT_EQ(resized_mask({mask.view(), all, {2, 4}}),
            (std::vector<int32_t>{1, 2, 3, -1, 5, 6, 7, 8}));
  EXPECT_EQ(resized_mask({mask.view(), all, {2, 4}, true}),
            (std::vector<int32_t>{-1, 3, 2, 1, 8, 7, 6, 5}));
  EXPECT_EQ(resized_mask({mask.view(), all, {1, 4}}), (std::vector<int32_t>{5, 6, 7, 8}));
  EXPECT_EQ(resized_mask({mask.view(), {0, 1, 1, 2}, {1, 4}}), (std::vector<int32_t>{2, 2, 3, 3}));
  EXPECT_EQ(resized_mask({mask.view(), {0, 2, 1, 2}, {1, 2}}, 1), (std::vector<int32_t>{3, 1}));
}

TEST(Mask, ChecksWhatItResizes) {
  Image mask({2, 4}, 1);
  const auto error = [&](const MaskView& view, size_t elements) {
    std::vector<int32_t> to(elements);
    return error_of([&] { resize_mask(view, mask_classes(), to); });
  };
  EXPECT_SAYS(error({mask.view(), {0, 0, 3, 4}, {2, 2}}, 4), "2x4", "box of 3x4");
  EXPECT_SAYS(error({mask.view(), {0, 0, 2, 4}, {2, 2}}, 5), "2x2", "5 elements");
  const Image colours({2, 4}, 3);
  EXPECT_SAYS(error({colours.view(), {0, 0, 2, 4}, {2, 2}}, 4), "3 channels");
}

TEST(Mask, ClassesHaveTheColoursOfVoc) {
  using Colour = std::array<uint8_t, 3>;
  EXPECT_EQ(class_colour(0), (Colour{0, 0, 0}));
  EXPECT_EQ(class_colour(1), (Colour{128, 0, 0}));
  EXPECT_EQ(class_colour(2), (Colour{0, 128, 0}));
  EXPECT_EQ(class_colour(20), (Colour{0, 64, 128}));
  EXPECT_EQ(class_colour(kNotLabelledInMasks), class_colour(kNotLabelled));
  EXPECT_EQ(class_colour(kNotLabelled), (Colour{224, 224, 192}));
  const std::vector<int32_t> labels = {1, 2};
  EXPECT_EQ(picture_of_mask(labels, {1, 2}).pixels, (Bytes{128, 0, 0, 0, 128, 0}));
}

}  // namespace
}  // namespace pando
