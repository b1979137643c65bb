// What treats all pixels of a channel alike is a table of 256 values, applied in one pass.
// SPDX-License-Identifier: MIT
#include "pando/data/image/pixel_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "pando/base/multiversion.h"

namespace pando {

namespace {

using ByteTable = std::array<uint8_t, 256>;
using Histogram = std::array<int64_t, 256>;

PANDO_INLINE uint8_t blend_bytes(int poorer, int value, float factor) {
  const float mixed = static_cast<float>(poorer) + factor * static_cast<float>(value - poorer);
  return static_cast<uint8_t>(mixed < 0 ? 0.0f : mixed > 255 ? 255.0f : mixed);
}

// The grey of a pixel, with the weights of ITU-R 601.
PANDO_INLINE int grey_of(const uint8_t* pixel) {
  return (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16;
}

void look_up(Image& image, const ByteTable& table) {
  for (uint8_t& value : image.pixels) value = table[value];
}

// One table for each channel.
void look_up(Image& image, const std::array<ByteTable, 3>& tables) {
  if (image.channels == 1) return look_up(image, tables[0]);
  uint8_t* pixel = image.pixels.data();
  for (int64_t i = 0; i < image.size.pixels(); ++i, pixel += 3) {
    for (size_t c = 0; c < 3; ++c) pixel[c] = tables[c][pixel[c]];
  }
}

template <typename Entry>
ByteTable make_table(const Entry& entry) {
  ByteTable table{};
  for (int i = 0; i < 256; ++i) table[static_cast<size_t>(i)] = entry(i);
  return table;
}

std::array<Histogram, 3> histograms_of(const Image& image) {
  std::array<Histogram, 3> counts{};
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < image.pixels.size(); i += channels) {
    for (size_t c = 0; c < channels; ++c) ++counts[c][image.pixels[i + c]];
  }
  return counts;
}

template <typename TableOf>
void map_channels(Image& image, const TableOf& table_of) {
  const std::array<Histogram, 3> counts = histograms_of(image);
  std::array<ByteTable, 3> tables{};
  for (size_t c = 0; c < static_cast<size_t>(image.channels); ++c) tables[c] = table_of(counts[c]);
  look_up(image, tables);
}

ByteTable stretched(const Histogram& counts) {
  int low = 0;
  int high = 255;
  while (low < 255 && counts[static_cast<size_t>(low)] == 0) ++low;
  while (high > 0 && counts[static_cast<size_t>(high)] == 0) --high;
  if (high <= low) return make_table([](int i) { return static_cast<uint8_t>(i); });
  const double scale = 255.0 / (high - low);
  const double shift = -low * scale;
  return make_table(
      [&](int i) { return static_cast<uint8_t>(std::clamp(i * scale + shift, 0.0, 255.0)); });
}

ByteTable equalized(const Histogram& counts) {
  int64_t total = 0;
  int64_t last = 0;  // the count of the largest value
  for (const int64_t count : counts) {
    total += count;
    if (count > 0) last = count;
  }
  const int64_t step = (total - last) / 255;
  if (step == 0) return make_table([](int i) { return static_cast<uint8_t>(i); });
  int64_t below = step / 2;
  return make_table([&](int i) {
    const int64_t level = std::min<int64_t>(below / step, 255);
    below += counts[static_cast<size_t>(i)];
    return static_cast<uint8_t>(level);
  });
}

int mean_grey(const Image& image) {
  const int64_t pixels = image.size.pixels();
  int64_t sum = 0;
  if (image.channels == 1) {
    for (const uint8_t value : image.pixels) sum += value;
  } else {
    for (int64_t i = 0; i < pixels; ++i) sum += grey_of(image.pixels.data() + 3 * i);
  }
  return static_cast<int>((2 * sum + pixels) / (2 * pixels));  // rounded
}

PANDO_MULTIVERSION void saturate(uint8_t* pixels, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* pixel = pixels + 3 * i;
    const int grey = grey_of(pixel);
    for (int c = 0; c < 3; ++c) pixel[c] = blend_bytes(grey, pixel[c], factor);
  }
}

// A row of bytes without its first and last pixel; `middle` points to its first byte.
struct InnerRow {
  const uint8_t* middle;
  int64_t stride;  // to the rows above and below
  int64_t channels;
  int64_t count;
};

PANDO_MULTIVERSION void sharpen_row(const InnerRow& row, float factor, uint8_t* to) {
  const uint8_t* from = row.middle;
  for (int64_t i = 0; i < row.count; ++i) {
    int sum = 4 * from[i];
    for (int64_t y = -row.stride; y <= row.stride; y += row.stride) {
      sum += from[i + y - row.channels] + from[i + y] + from[i + y + row.channels];
    }
    const int smooth = (2 * sum + 13) / 26;  // sum / 13, rounded
    to[i] = blend_bytes(smooth, from[i], factor);
  }
}

struct Hsv {
  float hue = 0;  // in sixths of a circle
  float chroma = 0;
  float value = 0;
};

// The hue of grey, which has none, is some number.
PANDO_INLINE Hsv to_hsv(float red, float green, float blue) {
  const float warm = red > green ? red : green;
  const float high = warm > blue ? warm : blue;
  const float cold = red < green ? red : green;
  const float chroma = high - (cold < blue ? cold : blue);
  const float base = high == red ? 0.0f : high == green ? 2.0f : 4.0f;
  const float distance = high == red ? green - blue : high == green ? blue - red : red - green;
  return {base + distance / (chroma == 0 ? 1 : chroma), chroma, high};
}

// The value of the channel whose pure colour is at `place` (red 5, green 3, blue 1).
PANDO_INLINE uint8_t channel_of(const Hsv& colour, float place) {
  float k = place + colour.hue;  // -3 to 13
  k += k < 0 ? 6 : 0;
  k -= k >= 6 ? 6 : 0;
  k -= k >= 6 ? 6 : 0;
  const float rise = k < 4 - k ? k : 4 - k;
  const float part = rise < 0 ? 0 : rise > 1 ? 1 : rise;
  const float half_more = colour.value - colour.chroma * part + 0.5f;
  return static_cast<uint8_t>(half_more);
}

PANDO_MULTIVERSION void turn_hues(uint8_t* pixels, int64_t count, float sixths) {
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* pixel = pixels + 3 * i;
    Hsv colour = to_hsv(pixel[0], pixel[1], pixel[2]);
    colour.hue += sixths;
    pixel[0] = channel_of(colour, 5);
    pixel[1] = channel_of(colour, 3);
    pixel[2] = channel_of(colour, 1);
  }
}

}  // namespace

void adjust_brightness(Image& image, float factor) {
  look_up(image, make_table([&](int i) { return blend_bytes(0, i, factor); }));
}

void adjust_contrast(Image& image, float factor) {
  const int mean = mean_grey(image);
  look_up(image, make_table([&](int i) { return blend_bytes(mean, i, factor); }));
}

void adjust_saturation(Image& image, float factor) {
  if (image.channels == 3) saturate(image.pixels.data(), image.size.pixels(), factor);
}

void adjust_sharpness(Image& image, float factor, Image& spare) {
  const auto [height, width] = image.size;
  if (height < 3 || width < 3) return;  // all pixels are at the edge
  spare = image;
  const int64_t channels = image.channels;
  const int64_t stride = width * channels;
  for (int64_t y = 1; y < height - 1; ++y) {
    const InnerRow row = {spare.row(y) + channels, stride, channels, stride - 2 * channels};
    sharpen_row(row, factor, image.row(y) + channels);
  }
}

void shift_hue(Image& image, float turn) {
  if (image.channels == 3) turn_hues(image.pixels.data(), image.size.pixels(), 6 * turn);
}

void auto_contrast(Image& image) { map_channels(image, stretched); }

void equalize(Image& image) { map_channels(image, equalized); }

void posterize(Image& image, int bits) {
  const int kept = 0xff & ~((1 << (8 - bits)) - 1);
  look_up(image, make_table([&](int i) { return static_cast<uint8_t>(i & kept); }));
}

void solarize(Image& image, int threshold) {
  look_up(image,
          make_table([&](int i) { return static_cast<uint8_t>(i < threshold ? i : 255 - i); }));
}

}  // namespace pando
