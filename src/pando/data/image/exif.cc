// SPDX-License-Identifier: MIT
#include "pando/data/image/exif.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "pando/data/image/jpeg.h"
#include "pando/data/image/png.h"

namespace pando::data {

namespace {

using ExifBytes = std::span<const uint8_t>;

// Numbers in a block of bytes, in either byte order; nothing beyond its end.
struct ExifNumbers {
  ExifBytes bytes;
  bool big_endian = true;

  std::optional<uint32_t> at(size_t offset, size_t count) const {
    if (offset > bytes.size() || bytes.size() - offset < count) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      value = value << 8 | bytes[offset + (big_endian ? i : count - 1 - i)];
    }
    return value;
  }
};

bool exif_starts(ExifBytes bytes, std::string_view start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

// The first EXIF segment before the pixels. Segments are a marker, ff and a byte, then the length
// of the rest in two bytes.
ExifBytes exif_of_jpeg(ExifBytes file) {
  constexpr std::string_view kStart("Exif\0\0", 6);
  constexpr uint8_t kApp1 = 0xe1;
  constexpr uint8_t kPixels = 0xda;
  const ExifNumbers numbers{file};
  for (size_t at = 2; at + 4 <= file.size() && file[at] == 0xff;) {
    const uint8_t marker = file[at + 1];
    if (marker == 0xff) {  // a marker may follow any number of fill bytes
      ++at;
      continue;
    }
    const size_t length = *numbers.at(at + 2, 2);
    if (marker == kPixels || length < 2 || length > file.size() - at - 2) return {};
    const ExifBytes content = file.subspan(at + 4, length - 2);
    if (marker == kApp1 && exif_starts(content, kStart)) return content.subspan(kStart.size());
    at += 2 + length;
  }
  return {};
}

// Chunks are a length, a name, the content and a checksum.
ExifBytes exif_of_png(ExifBytes file) {
  constexpr size_t kAround = 12;
  const ExifNumbers numbers{file};
  for (size_t at = 8; file.size() - at >= kAround;) {
    const size_t length = *numbers.at(at, 4);
    const ExifBytes name = file.subspan(at + 4, 4);
    if (length > file.size() - at - kAround || exif_starts(name, "IEND")) return {};
    if (exif_starts(name, "eXIf")) return file.subspan(at + 8, length);
    at += kAround + length;
  }
  return {};
}

int64_t turned_start(int64_t start, int64_t length, int64_t extent, bool flip) {
  return flip ? extent - start - length : start;
}

}  // namespace

// The actions of a viewer for the values 2 to 8: mirror left to right; half a turn; mirror top to
// bottom; exchange rows and columns; a quarter turn to the right; exchange them along the other
// diagonal; a quarter turn to the left.
Turn turn_of(int64_t orientation) {
  if (orientation < 1 || orientation > 8) return {};
  const auto is_one_of = [&](std::string_view digits) {
    return digits.find(static_cast<char>('0' + orientation)) != digits.npos;
  };
  return {.flip_rows = is_one_of("3467"),
          .flip_columns = is_one_of("2378"),
          .transpose = orientation >= 5};
}

// A TIFF file: byte order, the number 42, the place of a table: a count, then entries of 12 bytes:
// tag, type, count and the value itself if it is short.
Turn turn_of_exif(ExifBytes tiff) {
  constexpr uint32_t kOrientation = 0x0112;
  constexpr uint32_t kShort = 3;
  constexpr size_t kEntry = 12;
  ExifNumbers numbers{tiff};
  numbers.big_endian = exif_starts(tiff, "MM");
  if ((!numbers.big_endian && !exif_starts(tiff, "II")) || numbers.at(2, 2) != 42u) return {};
  const size_t table = numbers.at(4, 4).value_or(0);
  const size_t count = numbers.at(table, 2).value_or(0);
  for (size_t i = 0; table != 0 && i < count; ++i) {
    const size_t entry = table + 2 + i * kEntry;
    const std::optional<uint32_t> tag = numbers.at(entry, 2);
    if (!tag) return {};
    if (tag != kOrientation) continue;
    const bool is_number = numbers.at(entry + 2, 2) == kShort && numbers.at(entry + 4, 4) == 1u;
    return is_number ? turn_of(numbers.at(entry + 8, 2).value_or(0)) : Turn();
  }
  return {};
}

Turn turn_of_image(ExifBytes image) {
  if (looks_like_jpeg(image)) return turn_of_exif(exif_of_jpeg(image));
  if (looks_like_png(image)) return turn_of_exif(exif_of_png(image));
  return {};
}

ImageSize turned(const ImageSize& stored, const Turn& turn) {
  return turn.transpose ? ImageSize{stored.width, stored.height} : stored;
}

PixelBox turned_back(const PixelBox& upright, const Turn& turn, const ImageSize& stored) {
  PixelBox box = upright;
  if (turn.transpose) box = {upright.x, upright.y, upright.width, upright.height};
  box.y = turned_start(box.y, box.height, stored.height, turn.flip_rows);
  box.x = turned_start(box.x, box.width, stored.width, turn.flip_columns);
  return box;
}

RealBox turned(const RealBox& box, const Turn& turn, const ImageSize& stored) {
  RealBox result = box;
  if (turn.flip_rows) result.y = static_cast<double>(stored.height) - box.y - box.height;
  if (turn.flip_columns) result.x = static_cast<double>(stored.width) - box.x - box.width;
  if (turn.transpose) result = {result.x, result.y, result.width, result.height};
  return result;
}

void turn_pixels(const Image& stored, const Turn& turn, Image& upright) {
  upright.reset(turned(stored.size, turn), stored.channels);
  const int64_t row = stored.size.width * stored.channels;
  // The steps in the stored pixels for one row and for one column of the upright image.
  int64_t down = turn.flip_rows ? -row : row;
  int64_t right = turn.flip_columns ? -stored.channels : stored.channels;
  const int64_t first = (turn.flip_rows ? (stored.size.height - 1) * row : 0) +
                        (turn.flip_columns ? row - stored.channels : 0);
  if (turn.transpose) std::swap(down, right);
  uint8_t* to = upright.pixels.data();
  for (int64_t y = 0; y < upright.size.height; ++y) {
    const uint8_t* from = stored.pixels.data() + first + y * down;
    for (int64_t x = 0; x < upright.size.width; ++x, from += right) {
      to = std::copy_n(from, stored.channels, to);
    }
  }
}

}  // namespace pando::data
