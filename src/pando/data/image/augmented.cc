// SPDX-License-Identifier: MIT
#include "pando/data/image/augmented.h"

#include <algorithm>
#include <vector>

#include "pando/base/error.h"
#include "pando/data/image/mask.h"

namespace pando {

namespace {

constexpr float kByte = 1.0f / 255.0f;

void check(const Field& x, const AugmentOptions& options) {
  const bool image = x.dtype == DType::u8 && x.shape.rank() == 3 && x.shape[2] >= 1 &&
                     x.shape[2] <= 4 && x.shape.elements() > 0;
  if (!image) {
    throw InvalidArgument("augment images: the field is ", x,
                          ", expected u8[height,width,channels] with 1 to 4 channels");
  }
  if (options.border < 0) {
    throw InvalidArgument("augment images: border ", options.border, ", expected at least 0");
  }
  if (options.values == PixelValues::normalised && x.shape[2] != 3) {
    throw InvalidArgument("augment images: ", x.shape[2],
                          " channels, expected 3 to normalise them");
  }
  check_changes(options.changes, "augment images");
  if (options.changes.any() && x.shape[2] != 1 && x.shape[2] != 3) {
    throw InvalidArgument("augment images: ", x.shape[2],
                          " channels, expected 1 or 3 to change them");
  }
}

CropFlip choose(const AugmentOptions& options, const ImageSize& size, const SampleView& sample) {
  if (!options.flip && options.border == 0) return {};
  RandomStream random = sample_random(options.seed, sample.epoch(), sample.index());
  CropFlip choice = random_crop_flip(random, size, size, options.border);
  choice.flip = choice.flip && options.flip;
  return choice;
}

// The crop that the host takes when the device mirrors: once mirrored, it equals the chosen crop of
// the mirrored image.
CropFlip before_flip(const CropFlip& choice) {
  return {.y = choice.y, .x = choice.flip ? -choice.x : choice.x, .flip = false};
}

// The image after its changes, in memory of the thread or, without changes, where it was.
ImageView changed(const ImageView& image, const AugmentOptions& options, const SampleView& sample) {
  if (!options.changes.any()) return image;
  thread_local Image copy;
  copy.reset(image.size, image.channels);
  std::copy_n(image.pixels, image.bytes(), copy.pixels.data());
  const SampleKey key = {options.seed, sample.epoch(), sample.index()};
  change_picture(draw_changes(options.changes, key, image.size), copy);
  return copy.view();
}

PixelTarget target_of(PixelValues values, const ImageView& image, const SampleView& to) {
  switch (values) {
    case PixelValues::bytes: return PixelTarget(to.u8(0));
    case PixelValues::plain: return {to.f32(0), ChannelMap{}};
    case PixelValues::scaled: return {to.f32(0), ChannelMap{.scale = {kByte, kByte, kByte, kByte}}};
    case PixelValues::normalised: return {to.f32(0), normalise_imagenet()};
    case PixelValues::standardised: break;
  }
  return {to.f32(0), standardise(image)};
}

// Whether the labels are classes of the pixels, and pixels may move.
bool moves_masks(const Dataset& dataset, const ImageSize& size, const AugmentOptions& options) {
  const auto is_mask = [&](const Field& field) {
    return field.name == "y" && field.dtype == DType::i32 &&
           field.shape == Shape{size.height, size.width};
  };
  const bool moves = options.flip || options.border > 0 || options.changes.any();
  return moves && std::ranges::any_of(dataset.fields(), is_mask);
}

void move_mask(const AugmentOptions& options, const ImageSize& size, std::span<const int32_t> from,
               const SampleView& to) {
  thread_local std::vector<int32_t> mask;
  mask.assign(from.begin(), from.end());
  const SampleKey key = {options.seed, to.epoch(), to.index()};
  change_mask(draw_changes(options.changes, key, size), size, mask);
  const CropFlip choice = choose(options, size, to);
  int32_t* next = to.i32(0).data();
  for (int64_t row = choice.y; row < choice.y + size.height; ++row) {
    for (int64_t column = choice.x; column < choice.x + size.width; ++column) {
      const bool inside = row >= 0 && row < size.height && column >= 0 && column < size.width;
      const int64_t x = choice.flip ? size.width - 1 - column : column;
      *next++ = inside ? mask[static_cast<size_t>(row * size.width + x)] : kNotLabelled;
    }
  }
}

}  // namespace

Dataset augment_images(const Dataset& dataset, const AugmentOptions& options) {
  const Field old = dataset.fields()[dataset.field_index("x")];
  check(old, options);
  const ImageSize size = {old.shape[0], old.shape[1]};
  const int64_t channels = old.shape[2];
  const DType dtype = options.values == PixelValues::bytes ? DType::u8 : DType::f32;
  Dataset images =
      dataset.map_field("x", {"x", dtype, old.shape},
                        [options, size, channels](const SampleView& from, const SampleView& to) {
                          const ImageView whole = {from.u8(0).data(), size, channels};
                          const ImageView image = changed(whole, options, to);
                          const CropFlip choice = choose(options, size, to);
                          crop_flip(image, options.flip_on_device ? before_flip(choice) : choice,
                                    size, target_of(options.values, image, to));
                        });
  if (moves_masks(dataset, size, options)) {
    const Field mask = dataset.fields()[dataset.field_index("y")];
    images =
        images.map_field("y", mask, [options, size](const SampleView& from, const SampleView& to) {
          move_mask(options, size, from.i32(0), to);
        });
  }
  if (!options.flip_on_device) return images;
  return images.add_field({"flip", DType::u8, {}}, [options, size](const SampleView& sample) {
    sample.u8(0)[0] = choose(options, size, sample).flip ? 1 : 0;
  });
}

}  // namespace pando
