#include "pando/data/image/decode.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "pando/base/random.h"
#include "pando/data/image/png.h"
#include "tests/data/test_images.h"
#include "tests/support/expect_error.h"

namespace pando {
namespace {

using testing_support::error_of;

std::string decode_error(const Bytes& bytes, const DecodeLimits& limits = {}) {
  return error_of<IoError>([&] { decode_image(bytes, "a.bin", limits); });
}

// Returns whether decoding succeeds; only a Pando error is allowed. The pixels of damaged files are
// not checked.
bool survives(const Bytes& bytes) {
  const DecodeLimits limits = {.max_pixels = 1 << 16};
  try {
    ImageReader reader(bytes, "a.bin", limits);
    Image image;
    reader.read(image);
    reader.read_region({.box = whole(reader.size()), .target = {1, 1}, .may_shrink = true}, image);
    return true;
  } catch (const IoError&) {
    return false;
  } catch (const Unsupported&) {
    return false;
  }
}

Bytes soft_jpeg(bool progressive = false) {
  return encode_jpeg(soft_image({40, 56}).view(), {.progressive = progressive});
}
Bytes soft_png() { return encode_png(soft_image({20, 28}).view()); }

TEST(DecodeImage, EqualsPil) {
  const TempFolder directory;
  const std::string command = concat(PANDO_PYTHON, " '", PANDO_SOURCE_DIR,
                                     "/tests/data/pil_images.py' '", directory.path(), "'");
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << PANDO_PYTHON " has no PIL or numpy; on Debian install python3-pil";
  }
  ASSERT_EQ(status, 0) << command;
  std::ifstream names(directory.path("names.txt"));
  std::string name;
  ImageSize size;
  int images = 0;
  while (names >> name >> size.height >> size.width) {
    const bool jpeg = name.ends_with(".jpg");
    const Image image = decode_image(read_bytes(directory.path(name)), name);
    EXPECT_EQ(image.size, size) << name;
    EXPECT_EQ(image.channels, 3);
    const Bytes wanted = read_bytes(directory.path(name.substr(0, name.size() - 4) + ".rgb"));
    EXPECT_LE(largest_difference(image.pixels, wanted), jpeg ? 2 : 0) << name;
    ++images;
  }
  EXPECT_EQ(images, 108);
}

TEST(DecodeImage, LooksAtTheContentAndNotAtTheName) {
  EXPECT_EQ(ImageReader(soft_png(), "photo.jpg").format(), ImageFormat::png);
  EXPECT_EQ(ImageReader(soft_jpeg(), "photo.png").format(), ImageFormat::jpeg);
}

TEST(DecodeImage, SaysWhatItFoundInstead) {
  const auto text = [](std::string_view start) { return Bytes(start.begin(), start.end()); };
  const std::string wanted = "JPEG (ff d8 ff ...) or PNG (89 50 4e 47 ...)";
  EXPECT_SAYS(decode_error({}), "a.bin", wanted);
  EXPECT_SAYS(decode_error(text("GIF89a")), "a.bin", "GIF", wanted);
  EXPECT_SAYS(decode_error(text("RIFF....WEBP")), "a.bin", "WebP", "RIFF", wanted);
  EXPECT_SAYS(decode_error(text("<!doctype html>")), "a.bin", "HTML", "SVG", "XML", wanted);
  EXPECT_SAYS(decode_error({1, 2, 0xab}), "a.bin", "01 02 ab", wanted);
}

TEST(DecodeImage, ReadsAgainAndAgain) {
  for (const Bytes& file : {soft_jpeg(), soft_jpeg(true), soft_png()}) {
    ImageReader reader(file, "a");
    Image first;
    Image second;
    reader.read(first);
    reader.read_region({.box = {3, 4, 5, 6}}, second);
    reader.read(second);
    EXPECT_EQ(first.pixels, second.pixels);
  }
}

TEST(DecodeImage, EveryCutIsAnError) {
  for (const Bytes& file : {soft_jpeg(), soft_jpeg(true), soft_png()}) {
    ASSERT_TRUE(survives(file));
    for (size_t length = 0; length < file.size(); ++length) {
      const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_FALSE(survives(cut)) << length << " of " << file.size() << " bytes";
    }
  }
}

TEST(DecodeImage, ACutIsNoticedInPartsAboveItToo) {
  const Bytes file = soft_jpeg();
  const Bytes cut(file.begin(), file.end() - 20);
  const std::string message = error_of<IoError>([&] { ImageReader(cut, "a.jpg"); });
  EXPECT_SAYS(message, "a.jpg", "JPEG", "40x56", concat(cut.size(), " bytes"), "(ff d9)");
  Bytes closed = cut;  // the cut file with an end marker appended
  closed.insert(closed.end(), {0xff, 0xd9});
  EXPECT_SAYS(decode_error(closed), "damaged JPEG of ");
  EXPECT_SAYS(decode_error(closed), "premature end of data segment");
}

TEST(DecodeImage, CutPngSaysSo) {
  Bytes file = soft_png();
  file.resize(file.size() - 1);
  EXPECT_SAYS(decode_error(file), "a.bin", "damaged PNG", concat(file.size(), " bytes"));
}

// A single wrong byte leads to an error or a picture, never to a crash. A PNG has checksums, so
// every wrong byte that matters leads to an error.
TEST(DecodeImage, SurvivesWrongBytes) {
  RandomStream random(1);
  for (const Bytes& file : {soft_jpeg(), soft_jpeg(true), soft_png()}) {
    for (int i = 0; i < 400; ++i) {
      Bytes wrong = file;
      wrong[random.next_below(wrong.size())] ^= static_cast<uint8_t>(1 + random.next_below(255));
      survives(wrong);
    }
  }
  Bytes wrong = soft_png();
  wrong[60] ^= 1;
  EXPECT_FALSE(survives(wrong));
}

TEST(DecodeImage, SurvivesRandomBytesBehindARightStart) {
  RandomStream random(2);
  for (const Bytes& file : {soft_jpeg(), soft_jpeg(true), soft_png()}) {
    for (size_t keep : {size_t{3}, size_t{8}, size_t{30}, file.size() / 2}) {
      for (int i = 0; i < 50; ++i) {
        Bytes noise = file;
        for (size_t k = keep; k < noise.size(); ++k) {
          noise[k] = static_cast<uint8_t>(random.next_word());
        }
        EXPECT_FALSE(survives(noise));
      }
    }
  }
}

// The position of the 16-bit height in the frame header: after its marker, length and precision.
size_t jpeg_height_at(const Bytes& file) {
  for (size_t i = 2; i + 1 < file.size(); ++i) {
    if (file[i] == 0xff && file[i + 1] == 0xc0) return i + 5;
  }
  return 0;
}

TEST(DecodeImage, RefusesBombsBeforeItAsksForMemory) {
  Bytes jpeg = soft_jpeg();
  const size_t at = jpeg_height_at(jpeg);
  ASSERT_NE(at, 0u);
  std::fill_n(jpeg.begin() + static_cast<std::ptrdiff_t>(at), 4, uint8_t{0xf0});
  EXPECT_SAYS(decode_error(jpeg), "a.bin", "61680x61680", "3,804,422,400 pixels",
              "at most 100,000,000");
  const Bytes png = soft_png();
  EXPECT_SAYS(decode_error(png, {.max_pixels = 559}), "a.bin", "20x28", "560 pixels",
              "at most 559");
  EXPECT_NO_THROW(decode_image(png, "a.bin", {.max_pixels = 560}));
}

TEST(DecodeImage, RefusesAPngWhoseBytesCannotHoldItsPixels) {
  // Signature and header of a valid 9000x9000 RGB image with nothing after them.
  const Bytes header = {'I', 'H', 'D', 'R', 0, 0, 0x23, 0x28, 0, 0, 0x23, 0x28, 8, 2, 0, 0, 0};
  const auto sum = static_cast<uint32_t>(crc32(0, header.data(), static_cast<uInt>(header.size())));
  Bytes file = Bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0, 0, 13} + header;
  for (const int shift : {24, 16, 8, 0}) file.push_back(static_cast<uint8_t>(sum >> shift));
  file = file + Bytes{0, 0, 0, 0, 'I', 'D', 'A', 'T'};
  EXPECT_SAYS(decode_error(file), "PNG", "9000x9000");
}

TEST(DecodeImage, RefusesSidesOfZero) {
  Bytes jpeg = soft_jpeg();
  const size_t at = jpeg_height_at(jpeg);
  jpeg[at] = jpeg[at + 1] = 0;
  EXPECT_SAYS(decode_error(jpeg), "a.bin", "damaged", "JPEG");
  Bytes png = soft_png();
  std::fill_n(png.begin() + 16, 4, uint8_t{0});
  EXPECT_SAYS(decode_error(png), "a.bin", "damaged", "PNG");
}

TEST(DecodeImage, RefusesJpegsWithTwoComponents) {
  Bytes jpeg = encode_jpeg(soft_image({8, 8}, 1).view());
  const size_t at = jpeg_height_at(jpeg);
  ASSERT_NE(at, 0u);
  jpeg[at - 2] = 14;  // the length of the frame header
  jpeg[at + 4] = 2;   // components; then a second one
  const Bytes second = {2, 0x11, 0};
  jpeg.insert(jpeg.begin() + static_cast<std::ptrdiff_t>(at) + 8, second.begin(), second.end());
  EXPECT_SAYS(error_of<Unsupported>([&] { decode_image(jpeg, "a.jpg"); }), "a.jpg", "JPEG",
              "2 components", "3 or 4");
}

// A grey 8x8 JPEG with a separate scan for each colour; the first scan occurs `repeats` times.
Bytes jpeg_of_scans(int repeats) {
  Bytes file = encode_jpeg(soft_image({8, 8}).view(), {.full_colour = true});
  const Bytes start_of_scan = {0xff, 0xda};
  file.erase(std::search(file.begin(), file.end(), start_of_scan.begin(), start_of_scan.end()),
             file.end());
  // A block of zeros is one byte: the codes for no difference and for the end of the block.
  for (int i = 0; i < repeats; ++i) file = file + Bytes{0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0x2b};
  file = file + Bytes{0xff, 0xda, 0, 8, 1, 2, 0x11, 0, 63, 0, 0x0f};
  return file + Bytes{0xff, 0xda, 0, 8, 1, 3, 0x11, 0, 63, 0, 0x0f, 0xff, 0xd9};
}

TEST(DecodeImage, RefusesJpegsOfCountlessScans) {
  const Image grey = decode_image(jpeg_of_scans(1), "a.jpg");
  EXPECT_EQ(grey.pixels, Bytes(192, 128));
  EXPECT_SAYS(decode_error(jpeg_of_scans(300)), "200 scans", "10");
}

// A region equals the same region of the whole picture in every pixel, also where colour is
// interpolated across block borders.
TEST(ReadRegion, EqualsTheSamePartOfTheWhole) {
  RandomStream random(3);
  const Image picture = soft_image({83, 131});
  for (const Bytes& file :
       {encode_jpeg(picture.view()), encode_jpeg(picture.view(), {.progressive = true}),
        encode_jpeg(picture.view(), {.full_colour = true}),
        encode_jpeg(soft_image({83, 131}, 1).view()), encode_png(picture.view())}) {
    ImageReader reader(file, "a");
    Image all;
    reader.read(all);
    Image part;
    for (int i = 0; i < 150; ++i) {
      PixelBox box;
      box.height = 1 + static_cast<int64_t>(random.next_below(83));
      box.width = 1 + static_cast<int64_t>(random.next_below(131));
      box.y = static_cast<int64_t>(random.next_below(static_cast<uint64_t>(84 - box.height)));
      box.x = static_cast<int64_t>(random.next_below(static_cast<uint64_t>(132 - box.width)));
      const RealBox found = reader.read_region({.box = box}, part);
      EXPECT_EQ(found.height, static_cast<double>(box.height));
      EXPECT_EQ(found.width, static_cast<double>(box.width));
      for (int64_t y = 0; y < box.height; ++y) {
        const uint8_t* wanted = all.row(box.y + y) + 3 * box.x;
        const uint8_t* got =
            part.row(static_cast<int64_t>(found.y) + y) + 3 * static_cast<int64_t>(found.x);
        ASSERT_TRUE(std::equal(wanted, wanted + 3 * box.width, got)) << box << " row " << y;
      }
    }
  }
}

TEST(ReadRegion, ReadsLessThanTheWhole) {
  const Bytes file = encode_jpeg(soft_image({400, 400}).view());
  ImageReader reader(file, "a");
  Image part;
  reader.read_region({.box = {200, 200, 20, 20}}, part);
  EXPECT_LE(part.size.height, 24);
  EXPECT_LE(part.size.width, 64);
}

TEST(ReadRegion, ShrinksOnlyWhereTheBoxIsTwiceTheTarget) {
  const Bytes file = encode_jpeg(soft_image({401, 399}).view());
  ImageReader reader(file, "a");
  Image part;
  const auto shrink = [&](const PixelBox& box, const ImageSize& target, bool may_shrink) {
    const RealBox found = reader.read_region({box, target, may_shrink}, part);
    EXPECT_GE(found.y, 0);
    EXPECT_GE(found.x, 0);
    EXPECT_LE(found.y + found.height, static_cast<double>(part.size.height));
    EXPECT_LE(found.x + found.width, static_cast<double>(part.size.width));
    return static_cast<double>(box.height) / found.height;
  };
  EXPECT_EQ(shrink({0, 0, 401, 399}, {50, 50}, false), 1);
  EXPECT_EQ(shrink({0, 0, 401, 399}, {200, 200}, true), 1);  // 399 < 2 * 200
  EXPECT_EQ(shrink({0, 0, 400, 399}, {199, 199}, true), 2);
  EXPECT_EQ(shrink({1, 3, 400, 396}, {99, 99}, true), 4);
  EXPECT_EQ(shrink({101, 99, 300, 300}, {10, 10}, true), 8);
  EXPECT_EQ(shrink({101, 99, 300, 300}, {200, 10}, true), 1);  // both sides count
}

TEST(ReadRegion, RefusesBoxesOutside) {
  const Bytes file = soft_png();
  ImageReader reader(file, "a.png");
  Image part;
  EXPECT_SAYS(error_of([&] {
                reader.read_region({.box = {0, 1, 20, 28}}, part);
              }),
              "a.png", "20x28", "row 0", "column 1");
  EXPECT_THROW(reader.read_region({.box = {-1, 0, 2, 2}}, part), InvalidArgument);
  EXPECT_THROW(reader.read_region({.box = {0, 0, 0, 2}}, part), InvalidArgument);
}

TEST(EncodeImage, PngKeepsEveryByte) {
  const Image colour = soft_image({9, 14});
  EXPECT_EQ(decode_image(encode_png(colour.view()), "a").pixels, colour.pixels);
  const Image grey = soft_image({9, 14}, 1);
  const Image read = decode_image(encode_png(grey.view()), "a");
  for (size_t i = 0; i < grey.pixels.size(); ++i) {
    ASSERT_EQ(read.pixels[3 * i + 2], grey.pixels[i]);
  }
}

TEST(EncodeImage, JpegKeepsThePicture) {
  const Image grey = soft_image({30, 41}, 1);
  const Image read = decode_image(encode_jpeg(grey.view(), {.quality = 100}), "a");
  for (size_t i = 0; i < grey.pixels.size(); ++i) {
    ASSERT_NEAR(read.pixels[3 * i], grey.pixels[i], 3);
  }
  const Image colour = soft_image({30, 41});
  EXPECT_LT(encode_jpeg(colour.view(), {.quality = 20}).size(),
            encode_jpeg(colour.view(), {.quality = 95}).size());
}

TEST(EncodeImage, RefusesWhatItCannotWrite) {
  const Image two(ImageSize{2, 2}, 2);
  EXPECT_SAYS(error_of([&] { encode_png(two.view()); }), "encode_png", "2 channels", "1 or 3");
  EXPECT_SAYS(error_of([&] { encode_jpeg(two.view()); }), "encode_jpeg", "2 channels", "1 or 3");
  const Image none(ImageSize{0, 2});
  EXPECT_SAYS(error_of([&] { encode_png(none.view()); }), "encode_png", "0x2", "pixel");
  EXPECT_SAYS(error_of([&] { encode_jpeg(none.view()); }), "encode_jpeg", "0x2", "1 to 65500");
  const Image one(ImageSize{1, 1});
  EXPECT_SAYS(error_of([&] { encode_jpeg(one.view(), {.quality = 0}); }), "encode_jpeg",
              "quality 0", "1 to 100");
}

}  // namespace
}  // namespace pando
