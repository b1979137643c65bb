#include "pando/data/image/exif.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "pando/data/image/decode.h"
#include "pando/data/image/png.h"
#include "tests/data/test_images.h"

namespace pando {
namespace {

using data::Turn;

// EXIF data with one entry before the orientation.
Bytes exif_of(int orientation, bool big_endian) {
  Bytes bytes = big_endian ? Bytes{'M', 'M'} : Bytes{'I', 'I'};
  const auto number = [&](uint32_t value, int count) {
    for (int i = 0; i < count; ++i) {
      bytes.push_back(static_cast<uint8_t>(value >> 8 * (big_endian ? count - 1 - i : i)));
    }
  };
  const auto entry = [&](uint32_t tag, uint32_t value) {
    number(tag, 2);
    number(3, 2);
    number(1, 4);
    number(value, 2);
    number(0, 2);
  };
  number(42, 2);
  number(8, 4);
  number(2, 2);
  entry(0x0100, 7);
  entry(0x0112, static_cast<uint32_t>(orientation));
  number(0, 4);
  return bytes;
}

Bytes with_exif(Bytes jpeg, const Bytes& exif) {
  const size_t length = exif.size() + 8;
  Bytes segment = {0xff, 0xe1, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)};
  for (const char c : {'E', 'x', 'i', 'f', '\0', '\0'}) segment.push_back(static_cast<uint8_t>(c));
  segment.insert(segment.end(), exif.begin(), exif.end());
  jpeg.insert(jpeg.begin() + 2, segment.begin(), segment.end());
  return jpeg;
}

Bytes png_with_exif(Bytes png, const Bytes& exif) {
  Bytes chunk = {0, 0, 0, static_cast<uint8_t>(exif.size()), 'e', 'X', 'I', 'f'};
  chunk.insert(chunk.end(), exif.begin(), exif.end());
  const auto sum =
      static_cast<uint32_t>(crc32(0, chunk.data() + 4, static_cast<uInt>(chunk.size() - 4)));
  for (int shift = 24; shift >= 0; shift -= 8) chunk.push_back(static_cast<uint8_t>(sum >> shift));
  png.insert(png.begin() + 33, chunk.begin(), chunk.end());  // after the header
  return png;
}

// The letters of a stored image, row by row, after turning.
std::string turned_letters(int orientation) {
  Image stored({2, 3}, 1);
  stored.pixels = {'a', 'b', 'c', 'd', 'e', 'f'};
  Image upright;
  turn_pixels(stored, data::turn_of(orientation), upright);
  std::string text;
  for (int64_t y = 0; y < upright.size.height; ++y) {
    text += (y > 0 ? " " : "") + std::string(upright.row(y), upright.row(y) + upright.size.width);
  }
  return text;
}

TEST(Exif, EveryOrientationTurnsAsViewersDo) {
  EXPECT_EQ(turned_letters(1), "abc def");
  EXPECT_EQ(turned_letters(2), "cba fed");
  EXPECT_EQ(turned_letters(3), "fed cba");
  EXPECT_EQ(turned_letters(4), "def abc");
  EXPECT_EQ(turned_letters(5), "ad be cf");
  EXPECT_EQ(turned_letters(6), "da eb fc");
  EXPECT_EQ(turned_letters(7), "fc eb da");
  EXPECT_EQ(turned_letters(8), "cf be ad");
  EXPECT_EQ(turned_letters(0), "abc def");
  EXPECT_EQ(turned_letters(9), "abc def");
}

TEST(Exif, BothByteOrdersAreRead) {
  for (const bool big_endian : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      EXPECT_EQ(data::turn_of_exif(exif_of(orientation, big_endian)), data::turn_of(orientation));
    }
  }
}

TEST(Exif, DamagedDataAreIgnored) {
  const Bytes good = exif_of(6, true);
  for (size_t kept = 0; kept + 7 < good.size(); ++kept) {  // up to the value
    EXPECT_EQ(data::turn_of_exif(std::span(good).first(kept)), Turn()) << kept;
  }
  const auto changed = [&](size_t at, uint8_t value) {
    Bytes bytes = good;
    bytes[at] = value;
    return data::turn_of_exif(bytes);
  };
  EXPECT_EQ(changed(0, 'X'), Turn());   // no byte order
  EXPECT_EQ(changed(3, 43), Turn());    // not the number of TIFF
  EXPECT_EQ(changed(4, 0xff), Turn());  // a table beyond the end
  EXPECT_EQ(changed(9, 1), Turn());     // a table that ends before the orientation
  EXPECT_EQ(changed(25, 7), Turn());    // not a number
  EXPECT_EQ(changed(29, 2), Turn());    // two numbers
  EXPECT_EQ(changed(31, 9), Turn());    // no orientation
  EXPECT_EQ(changed(31, 3), data::turn_of(3));
}

TEST(Exif, ImagesAreReadUprightUnlessAskedOtherwise) {
  const Bytes plain = encode_jpeg(soft_image({20, 30}).view());
  const Bytes turned = with_exif(plain, exif_of(6, false));
  const Image stored = decode_image(plain, "plain");
  Image expected;
  turn_pixels(stored, data::turn_of(6), expected);
  const Image upright = decode_image(turned, "turned");
  EXPECT_EQ(upright.size, (ImageSize{30, 20}));
  EXPECT_EQ(upright.pixels, expected.pixels);
  EXPECT_EQ(decode_image(turned, "turned", {}, Orientation::as_stored).pixels, stored.pixels);
  const Bytes damaged = with_exif(plain, {'M', 'M', 0, 42, 0xff, 0xff, 0xff, 0xff});
  EXPECT_EQ(decode_image(damaged, "damaged").pixels, stored.pixels);
}

// A part of an upright image is that part of the whole, wherever it lies in the file.
TEST(Exif, PartsOfTurnedImages) {
  const Bytes plain = encode_png(soft_image({12, 17}).view());
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    const Bytes png = png_with_exif(plain, exif_of(orientation, true));
    Image whole_image = decode_image(png, "png");
    ImageReader reader(png, "png");
    EXPECT_EQ(reader.size(), whole_image.size);
    const PixelBox box = {3, 2, 5, 7};
    Image part;
    const RealBox at = reader.read_region({.box = box}, part);
    for (int64_t y = 0; y < box.height; ++y) {
      for (int64_t x = 0; x < 3 * box.width; ++x) {
        ASSERT_EQ(part.row(static_cast<int64_t>(at.y) + y)[3 * static_cast<int64_t>(at.x) + x],
                  whole_image.row(box.y + y)[3 * box.x + x]);
      }
    }
    EXPECT_EQ(at.height, 5);
    EXPECT_EQ(at.width, 7);
  }
}

// libjpeg decodes a part at a fraction of its size; the box is where it belongs.
TEST(Exif, ShrunkPartsOfTurnedImages) {
  const Bytes plain = encode_jpeg(soft_image({160, 96}).view());
  for (int orientation = 2; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    const Bytes file = with_exif(plain, exif_of(orientation, false));
    ImageReader reader(file, "jpeg");
    Image part;
    const RealBox at =
        reader.read_region({.box = {16, 32, 64, 32}, .target = {16, 8}, .may_shrink = true}, part);
    EXPECT_NEAR(at.height, 16, 1e-9);
    EXPECT_NEAR(at.width, 8, 1e-9);
    EXPECT_GE(at.y, 0);
    EXPECT_GE(at.x, 0);
    EXPECT_LE(at.y + at.height, static_cast<double>(part.size.height));
    EXPECT_LE(at.x + at.width, static_cast<double>(part.size.width));
  }
}

}  // namespace
}  // namespace pando
