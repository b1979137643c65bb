// SPDX-License-Identifier: MIT
#include "pando/data/tools/show.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "pando/base/error.h"
#include "pando/data/image/augmented.h"
#include "pando/data/sources/cifar/cifar.h"
#include "pando/data/sources/cosmoflow.h"
#include "pando/data/sources/image_folder.h"
#include "pando/data/sources/imagenet/imagenet.h"
#include "pando/data/sources/mnist.h"
#include "pando/data/tools/formats.h"
#include "pando/data/tools/places_impl.h"
#include "pando/data/tools/show_impl.h"

namespace pando {

namespace data {

namespace {

constexpr int64_t kWidestTile = 264;  // as far as small pictures are enlarged for long captions
constexpr int64_t kUsualTile = 96;
constexpr uint8_t kMosaicLine = 96;
constexpr int64_t kMosaicGap = 1;  // between the channels of a volume

Showing show_cifar(TrainTest sets, const ShowOptions& options, std::vector<std::string> names) {
  const Dataset plain = options.test ? sets.test : sets.train;
  const AugmentOptions augment{.values = PixelValues::bytes,
                               .flip = options.augment,
                               .border = options.augment ? 4 : 0,
                               .seed = options.seed};
  return {augment_images(plain, augment), std::move(names), {}};
}

// The middle slice of each channel, side by side in two rows, each as bright as it can be.
Image middle_slices(const Tensor& volume) {
  const Shape& shape = volume.shape();
  const int64_t height = shape[1];
  const int64_t width = shape[2];
  const int64_t channels = shape[3];
  const int64_t columns = (channels + 1) / 2;
  const int64_t rows = (channels + columns - 1) / columns;
  Image image(
      {rows * (height + kMosaicGap) - kMosaicGap, columns * (width + kMosaicGap) - kMosaicGap}, 1);
  std::fill(image.pixels.begin(), image.pixels.end(), kMosaicLine);
  const float* slice = volume.f32().data() + shape[0] / 2 * height * width * channels;
  for (int64_t c = 0; c < channels; ++c) {
    float low = slice[c];
    float high = slice[c];
    for (int64_t i = 0; i < height * width; ++i) {
      low = std::min(low, slice[i * channels + c]);
      high = std::max(high, slice[i * channels + c]);
    }
    const float scale = high > low ? 255.0f / (high - low) : 0.0f;
    for (int64_t y = 0; y < height; ++y) {
      uint8_t* to =
          image.row(c / columns * (height + kMosaicGap) + y) + c % columns * (width + kMosaicGap);
      for (int64_t x = 0; x < width; ++x) {
        to[x] = static_cast<uint8_t>((slice[(y * width + x) * channels + c] - low) * scale);
      }
    }
  }
  return image;
}

std::string caption_of_targets(const Tensor& targets) {
  std::vector<std::string> parts;
  for (const float target : targets.f32()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", static_cast<double>(target));
    std::string digits = text;  // ".25" and "-.25": the caption is short of room
    const size_t zero = digits.find("0.");
    if (zero == 0 || (zero == 1 && digits[0] == '-')) digits.erase(zero, 1);
    parts.push_back(std::move(digits));
  }
  return join(parts, " ");
}

}  // namespace

Showing show_mnist(const std::string& path, const ShowOptions& options) {
  const TrainTest sets = load_mnist(path);
  return {options.test ? sets.test : sets.train, {}, {}};
}

Showing show_fashion_mnist(const std::string& path, const ShowOptions& options) {
  const TrainTest sets = load_fashion_mnist(path);
  return {options.test ? sets.test : sets.train, fashion_mnist_names(), {}};
}

Showing show_cifar10(const std::string& path, const ShowOptions& options) {
  return show_cifar(load_cifar10(path, {.x = DType::u8}), options, cifar10_names());
}

Showing show_cifar100(const std::string& path, const ShowOptions& options) {
  return show_cifar(load_cifar100(path, {.x = DType::u8}), options, cifar100_names());
}

Showing show_image_folder(const std::string& path, const ShowOptions& options) {
  const ImageFolder folder = load_image_folder(
      choose_part(path, options.test).path,
      {.random_views = options.augment, .dtype = DType::u8, .seed = options.seed});
  return {folder.dataset, folder.classes, {}};
}

Showing show_imagenet(const std::string& path, const ShowOptions& options) {
  const ImagenetPart part = options.test ? ImagenetPart::validation : ImagenetPart::train;
  return {open_imagenet(path, part,
                        {.random_views = options.augment, .dtype = DType::u8, .seed = options.seed})
              .data,
          imagenet_class_names(path),
          {}};
}

Showing show_cosmoflow(const std::string& path, const ShowOptions& options) {
  const std::string folder = choose_part(path, options.test).path;
  const Shape shape = cosmoflow_shape(files_in(folder, is_cosmoflow_file));
  return {open_cosmoflow(folder, {.shape = shape}).data, {}, [](const Sample& sample) {
            return SheetTile{middle_slices(sample.x()), caption_of_targets(sample.y())};
          }};
}

Showing show_tfrecord(const std::string& path, const ShowOptions&) {
  throw Unsupported("show: ", path,
                    ": records in general have no pictures; image_folder, cosmoflow and imagenet "
                    "have");
}

namespace {

void check(const ShowOptions& options) {
  if (options.samples < 1) {
    throw InvalidArgument("show: ", options.samples, " samples, wanted at least 1");
  }
  if (options.epoch < 0) throw InvalidArgument("show: epoch ", options.epoch, ", wanted 0 or more");
}

std::vector<SheetTile> tiles_of(const Showing& showing, const ShowOptions& options) {
  const Dataset shuffled = showing.dataset.shuffle({.seed = options.seed});
  std::vector<int64_t> indices(static_cast<size_t>(std::min(options.samples, shuffled.size())));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i);
  if (!showing.tile) {
    return pando::tiles_of(shuffled, {.indices = indices, .epoch = options.epoch}, showing.classes);
  }
  std::vector<SheetTile> tiles;
  for (const int64_t index : indices) {
    tiles.push_back(showing.tile(shuffled.get(index, options.epoch)));
  }
  return tiles;
}

// Wide enough for the captions, within reason.
int64_t tile_width(const std::vector<SheetTile>& tiles) {
  int64_t width = kUsualTile;
  for (const SheetTile& tile : tiles) {
    width = std::max(width, kCaptionLetterWidth * static_cast<int64_t>(tile.caption.size()));
  }
  return std::min(width, kWidestTile);
}

}  // namespace

}  // namespace data

Image show_dataset(const std::string& format, const std::string& path, const ShowOptions& options) {
  const DataFormat& found = find_data_format(format);
  data::check(options);
  const std::vector<SheetTile> tiles = data::tiles_of(found.show(path, options), options);
  return contact_sheet(tiles, {.columns = options.columns, .min_tile = data::tile_width(tiles)});
}

}  // namespace pando
