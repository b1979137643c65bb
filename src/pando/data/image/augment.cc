// SPDX-License-Identifier: MIT
#include "pando/data/image/augment.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "pando/base/deviation.h"
#include "pando/base/error.h"
#include "pando/base/multiversion.h"

namespace pando {

namespace {

struct Sums {
  uint64_t values = 0;
  uint64_t squares = 0;
};

// 32-bit sums inside of a block cannot overflow: 4096 * 255^2 < 2^32.
PANDO_MULTIVERSION Sums sum_up(const uint8_t* values, size_t count) {
  constexpr size_t kBlock = 4096;
  Sums sums;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = begin + kBlock < count ? begin + kBlock : count;
    uint32_t total = 0;
    uint32_t squares = 0;
    for (size_t i = begin; i < end; ++i) {
      const uint32_t value = values[i];
      total += value;
      squares += value * value;
    }
    sums.values += total;
    sums.squares += squares;
  }
  return sums;
}

PANDO_MULTIVERSION void map_values(const uint8_t* __restrict from, const float* __restrict scale,
                                   const float* __restrict shift, float* __restrict to,
                                   size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * scale[i] + shift[i];
}

// Writes the last pixel first. Pixels of three channels are copied as four bytes, of which the next
// pixel overwrites the fourth; only the first and the last pixel are copied as three bytes.
void reverse_pixels(const uint8_t* from, int64_t pixels, int64_t channels, uint8_t* to) {
  int64_t x = 0;
  if (channels == 3 && pixels > 1) {
    std::memcpy(to, from + 3 * (pixels - 1), 3);
    x = 1;
    for (; x < pixels - 1; ++x) std::memcpy(to + 3 * x, from + 3 * (pixels - 1 - x), 4);
  }
  for (; x < pixels; ++x) {
    const auto bytes = static_cast<size_t>(channels);
    std::memcpy(to + channels * x, from + channels * (pixels - 1 - x), bytes);
  }
}

// One value per element of a row: the values of the channels, repeated for every pixel.
std::vector<float> repeat_channels(const std::array<float, 4>& values, const ImageView& image,
                                   int64_t pixels) {
  std::vector<float> row(static_cast<size_t>(pixels * image.channels));
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < row.size(); i += channels) {
    for (size_t c = 0; c < channels; ++c) row[i + c] = values[c];
  }
  return row;
}

// The columns of a row: `before` of border, `inside` of the image from its column `first` on (of
// the mirrored image when it is mirrored), `after` of border.
struct Columns {
  int64_t before;
  int64_t inside;
  int64_t after;
  int64_t first;
};

Columns columns_of(int64_t width, int64_t x, int64_t wanted) {
  const int64_t begin = std::clamp<int64_t>(x, 0, width);
  const int64_t end = std::clamp<int64_t>(x + wanted, begin, width);
  const int64_t before = std::clamp<int64_t>(-x, 0, wanted);
  return {before, end - begin, wanted - before - (end - begin), begin};
}

// Gives the needed pixels of a row of the image, mirrored if `flip` is true.
class RowReader {
 public:
  RowReader(const ImageView& image, const Columns& columns, bool flip)
      : image_(image), columns_(columns), flip_(flip) {
    if (flip) reversed_.resize(static_cast<size_t>(columns.inside * image.channels));
  }
  const uint8_t* at(int64_t y) {
    const uint8_t* row = image_.row(y);
    if (!flip_) return row + columns_.first * image_.channels;
    const int64_t begin = image_.size.width - columns_.first - columns_.inside;
    reverse_pixels(row + begin * image_.channels, columns_.inside, image_.channels,
                   reversed_.data());
    return reversed_.data();
  }

 private:
  ImageView image_;
  Columns columns_;
  bool flip_;
  std::vector<uint8_t> reversed_;
};

void crop_f32(const ImageView& image, const CropFlip& choice, const ImageSize& size,
              const PixelTarget& target) {
  const Columns columns = columns_of(image.size.width, choice.x, size.width);
  const std::vector<float> border = repeat_channels(target.map.border, image, size.width);
  const std::vector<float> scale = repeat_channels(target.map.scale, image, columns.inside);
  const std::vector<float> shift = repeat_channels(target.map.shift, image, columns.inside);
  const auto inside = static_cast<size_t>(columns.inside * image.channels);
  RowReader rows(image, columns, choice.flip);
  float* to = target.f32.data();
  for (int64_t y = choice.y; y < choice.y + size.height; ++y) {
    if (y < 0 || y >= image.size.height || inside == 0) {
      to = std::copy(border.begin(), border.end(), to);
      continue;
    }
    to = std::copy_n(border.begin(), columns.before * image.channels, to);
    map_values(rows.at(y), scale.data(), shift.data(), to, inside);
    to = std::copy_n(border.begin(), columns.after * image.channels, to + inside);
  }
}

void crop_u8(const ImageView& image, const CropFlip& choice, const ImageSize& size,
             const PixelTarget& target) {
  const Columns columns = columns_of(image.size.width, choice.x, size.width);
  const auto inside = static_cast<size_t>(columns.inside * image.channels);
  RowReader rows(image, columns, choice.flip);
  uint8_t* to = target.u8.data();
  for (int64_t y = choice.y; y < choice.y + size.height; ++y) {
    if (y < 0 || y >= image.size.height || inside == 0) {
      to = std::fill_n(to, size.width * image.channels, uint8_t{0});
      continue;
    }
    to = std::fill_n(to, columns.before * image.channels, uint8_t{0});
    std::memcpy(to, rows.at(y), inside);
    to = std::fill_n(to + inside, columns.after * image.channels, uint8_t{0});
  }
}

}  // namespace

ChannelMap normalise_channels(const std::array<float, 3>& mean,
                              const std::array<float, 3>& deviation) {
  ChannelMap map;
  for (size_t c = 0; c < mean.size(); ++c) {
    if (!(deviation[c] > 0)) {
      throw InvalidArgument("normalise: deviation ", deviation[c], " of channel ", c,
                            ", expected more than 0");
    }
    map.scale[c] = 1.0f / (255.0f * deviation[c]);
    map.shift[c] = -mean[c] / deviation[c];
  }
  return map;
}

ChannelMap normalise_imagenet() {
  const auto floats = [](const std::array<double, 3>& values) {
    return std::array{static_cast<float>(values[0]), static_cast<float>(values[1]),
                      static_cast<float>(values[2])};
  };
  return normalise_channels(floats(kImagenetMean), floats(kImagenetDeviation));
}

ChannelMap standardise(const ImageView& image) {
  ChannelMap map;
  const Sums sums = sum_up(image.pixels, image.bytes());
  const auto count = static_cast<double>(image.bytes());
  const double mean = static_cast<double>(sums.values) / count;
  const double variance = static_cast<double>(sums.squares) / count - mean * mean;
  const double scale = inverse_deviation(mean, variance);
  map.scale.fill(static_cast<float>(scale));
  map.shift.fill(static_cast<float>(-mean * scale));
  return map;
}

void standardise(std::span<float> values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const float value : values) mean += value;
  mean /= count;
  double variance = 0;
  for (const float value : values) variance += (value - mean) * (value - mean);
  variance /= count;
  const double scale = inverse_deviation(mean, variance);
  for (float& value : values) value = static_cast<float>((value - mean) * scale);
}

void crop_flip(const ImageView& image, const CropFlip& choice, const ImageSize& size,
               const PixelTarget& to) {
  if (image.channels < 1 || image.channels > 4) {
    throw InvalidArgument("crop_flip: ", image.channels, " channels, expected 1 to 4");
  }
  if (to.elements() != static_cast<size_t>(size.pixels() * image.channels)) {
    throw InvalidArgument("crop_flip: ", to.elements(), " elements to write to, expected ", size,
                          " pixels of ", image.channels, " channels");
  }
  if (to.f32.empty()) {
    crop_u8(image, choice, size, to);
  } else {
    crop_f32(image, choice, size, to);
  }
}

}  // namespace pando
