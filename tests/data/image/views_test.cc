#include "pando/data/image/views.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "pando/data/image/png.h"
#include "pando/data/image/resize.h"
#include "tests/data/test_images.h"

namespace pando {
namespace {

std::vector<float> train_view(const Bytes& file, int64_t index, const TrainViewOptions& options) {
  ImageReader reader(file, "a");
  Image scratch;
  std::vector<float> values(static_cast<size_t>(options.size.pixels() * 3));
  read_train_view(reader, sample_random(1, 0, index), {}, options, scratch,
                  PixelTarget(values, normalise_imagenet()));
  return values;
}

// A view from a partly decoded JPEG equals the view from the whole picture, which a PNG stores.
TEST(TrainView, IsTheSameFromAPartAsFromTheWhole) {
  const Bytes jpeg = encode_jpeg(soft_image({150, 200}).view());
  const Bytes png = encode_png(decode_image(jpeg, "a").view());
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(train_view(jpeg, i, {.size = {32, 48}, .may_shrink = false}),
              train_view(png, i, {.size = {32, 48}}))
        << i;
  }
}

// Without a random box, training sees what validation sees.
TEST(TrainView, MayBeTheMiddle) {
  const Bytes png = encode_png(soft_image({150, 200}).view());
  std::vector<float> middle(32 * 48 * 3);
  ImageReader reader(png, "a");
  Image scratch;
  read_eval_view(reader, {.size = {32, 48}, .short_side = 60}, scratch,
                 PixelTarget(middle, normalise_imagenet()));
  EXPECT_EQ(train_view(png, 3, {.size = {32, 48}, .flip = false, .short_side = 60}), middle);
}

// The changes come after resizing and mirroring, and before the values are normalised.
TEST(TrainView, IsChangedAsBytes) {
  const Bytes png = encode_png(soft_image({150, 200}).view());
  const ChangeOptions how = {.rotation = 20, .jitter = {0.3, 0.3, 0.3, 0.1}, .erasing = 1};
  for (int64_t i = 0; i < 10; ++i) {
    const PictureChanges changes = draw_changes(how, {1, 0, i}, {32, 48});
    ImageReader reader(png, "a");
    Image scratch;
    Image view(ImageSize{32, 48});
    read_train_view(reader, sample_random(1, 0, i), {}, {.size = {32, 48}}, scratch,
                    PixelTarget(view.pixels));
    change_picture(changes, view);
    std::vector<float> wanted(view.pixels.size());
    crop_flip(view.view(), {}, view.size, PixelTarget(wanted, normalise_imagenet()));
    EXPECT_EQ(train_view(png, i, {.size = {32, 48}, .changes = &changes}), wanted) << i;
  }
  const PictureChanges none;
  EXPECT_EQ(train_view(png, 0, {.size = {32, 48}, .changes = &none}),
            train_view(png, 0, {.size = {32, 48}}));
}

// A smooth picture decoded at half its size looks the same, at the same place.
TEST(TrainView, KeepsThePlaceOfShrunkPictures) {
  Image slopes(ImageSize{241, 323});
  for (int64_t y = 0; y < 241; ++y) {
    for (int64_t x = 0; x < 323; ++x) {
      uint8_t* pixel = slopes.row(y) + 3 * x;
      pixel[0] = static_cast<uint8_t>(y);
      pixel[1] = static_cast<uint8_t>(x * 3 / 4);
      pixel[2] = 100;
    }
  }
  const Bytes jpeg = encode_jpeg(slopes.view(), {.quality = 100, .full_colour = true});
  constexpr double kStep = 1 / (255 * 0.225);  // one step of a pixel's value, normalised
  for (int64_t i = 0; i < 50; ++i) {
    const auto shrunk = train_view(jpeg, i, {.size = {20, 20}});
    const auto whole = train_view(jpeg, i, {.size = {20, 20}, .may_shrink = false});
    double sum = 0;
    for (size_t k = 0; k < shrunk.size(); ++k) {
      ASSERT_NEAR(shrunk[k], whole[k], 5 * kStep) << "view " << i << ", element " << k;
      sum += shrunk[k] - whole[k];
    }
    // A shift of half a pixel at 1/4 of the size would be two steps in two of the channels.
    ASSERT_NEAR(sum / static_cast<double>(shrunk.size()), 0, 0.4 * kStep) << "view " << i;
  }
}

TEST(TrainView, MirrorsHalfAndWritesBytes) {
  const Bytes png = encode_png(soft_image({40, 40}).view());
  const TrainViewOptions options = {.size = {16, 16}, .box = {.attempts = 0}};  // the whole image
  int mirrored = 0;
  for (int64_t i = 0; i < 100; ++i) {
    ImageReader reader(png, "a");
    Image scratch;
    std::vector<uint8_t> got(768);
    std::vector<uint8_t> straight(768);
    read_train_view(reader, sample_random(1, 0, i), {}, options, scratch, PixelTarget(got));
    resize_bilinear({scratch.view(), {0, 0, 40, 40}, {16, 16}}, PixelTarget(straight));
    mirrored += got == straight ? 0 : 1;
  }
  EXPECT_NEAR(mirrored, 50, 20);
}

TEST(TrainView, LeavesTheFlipToTheDevice) {
  const Bytes jpeg = encode_jpeg(soft_image({40, 50}).view());
  int flips = 0;
  for (int64_t i = 0; i < 60; ++i) {
    std::vector<uint8_t> views[2];
    bool flip[2];
    for (const bool device : {false, true}) {
      ImageReader reader(jpeg, "a");
      Image scratch;
      views[device].resize(size_t{16} * 12 * 3);
      flip[device] = read_train_view(reader, sample_random(1, 0, i), {},
                                     {.size = {16, 12}, .flip_on_device = device}, scratch,
                                     PixelTarget(views[device]));
    }
    ASSERT_EQ(flip[0], flip[1]);
    flips += flip[0] ? 1 : 0;
    for (size_t k = 0; k < views[0].size(); ++k) {
      const size_t x = k / 3 % 12;
      const size_t from = flip[1] ? k - 3 * x + 3 * (11 - x) : k;
      ASSERT_EQ(views[0][k], views[1][from]) << "view " << i;
    }
  }
  EXPECT_NEAR(flips, 30, 18);
}

// Resizes to the short side and crops the middle, in two steps over the whole picture.
std::vector<float> eval_in_two_steps(const Image& image, const EvalViewOptions& options) {
  const ImageSize resized = with_short_side(image.size, options.short_side);
  std::vector<float> all(static_cast<size_t>(resized.pixels() * 3));
  resize_bilinear({image.view(), real(whole(image.size)), resized},
                  PixelTarget(all, normalise_imagenet()));
  const PixelBox crop = central_crop(resized, options.size);
  std::vector<float> values;
  for (int64_t y = crop.y; y < crop.y + crop.height; ++y) {
    const auto begin = all.begin() + (y * resized.width + crop.x) * 3;
    values.insert(values.end(), begin, begin + crop.width * 3);
  }
  return values;
}

TEST(EvalView, EqualsResizeThenCrop) {
  for (const ImageSize size : {ImageSize{90, 130}, {200, 150}, {31, 40}}) {  // smaller and larger
    const Bytes jpeg = encode_jpeg(soft_image(size).view());
    const EvalViewOptions options = {.size = {48, 40}, .short_side = 56};
    const std::vector<float> wanted = eval_in_two_steps(decode_image(jpeg, "a"), options);
    ImageReader reader(jpeg, "a");
    Image scratch;
    std::vector<float> got(wanted.size());
    read_eval_view(reader, options, scratch, PixelTarget(got, normalise_imagenet()));
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-4) << size;
  }
}

}  // namespace
}  // namespace pando
