// SPDX-License-Identifier: MIT
#include "pando/data/image/png.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>

#include "pando/data/image/pixel_reader_impl.h"

// libpng reports errors by a function that must not return. Ours jumps back into the function that
// called libpng. The functions that call libpng are plain C: nothing in them has a destructor that
// a jump could skip, and all that they change while libpng runs is in the PngDecoder.

namespace pando::data {

namespace {

constexpr std::array<uint8_t, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
// Deflate expands one byte to at most 1032.
constexpr uint64_t kMostGrowth = 1032;

struct PngDecoder {
  png_structp png;
  png_infop info;
  const uint8_t* next;
  size_t left;
  png_uint_32 height, width;
  int depth, colour;
  size_t row_bytes;
  int passes;
  png_uint_32 row;
  char text[256];
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* decoder = static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::snprintf(decoder->text, sizeof decoder->text, "%s", text);
  png_longjmp(png, 1);
}

// Warnings are about things that do not change pixels, such as a bad comment.
void on_warning(png_structp /*png*/, png_const_charp /*text*/) {}

void take_bytes(png_structp png, png_bytep to, size_t count) {
  auto* decoder = static_cast<PngDecoder*>(png_get_io_ptr(png));
  if (count > decoder->left) png_error(png, "the file ends too early");
  std::memcpy(to, decoder->next, count);
  decoder->next += count;
  decoder->left -= count;
}

bool open(PngDecoder& decoder) {
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning);
  if (decoder.png == nullptr) return false;
  if (setjmp(png_jmpbuf(decoder.png)) != 0) return false;
  decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info == nullptr) png_error(decoder.png, "out of memory");
  png_set_read_fn(decoder.png, &decoder, take_bytes);
  // Colour profiles, texts and the like do not change the pixels. A damaged profile of a few bytes
  // would cost megabytes.
  png_set_keep_unknown_chunks(decoder.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(decoder.png, decoder.info);
  png_get_IHDR(decoder.png, decoder.info, &decoder.width, &decoder.height, &decoder.depth,
               &decoder.colour, nullptr, nullptr, nullptr);
  return true;
}

// Converts everything to 8-bit RGB.
bool start(PngDecoder& decoder) {
  if (setjmp(png_jmpbuf(decoder.png)) != 0) return false;
  png_set_expand(decoder.png);
  png_set_strip_16(decoder.png);
  png_set_strip_alpha(decoder.png);
  if ((decoder.colour & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(decoder.png);
  decoder.passes = png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  if (png_get_rowbytes(decoder.png, decoder.info) != size_t{3} * decoder.width) {
    png_error(decoder.png, "the rows are not RGB");
  }
  decoder.row_bytes = size_t{3} * decoder.width;
  return true;
}

// Leaves the stored numbers as they are, one in each byte: grey values and places in the palette.
bool start_numbers(PngDecoder& decoder) {
  if (setjmp(png_jmpbuf(decoder.png)) != 0) return false;
  png_set_packing(decoder.png);
  decoder.passes = png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  if (png_get_rowbytes(decoder.png, decoder.info) != decoder.width) {
    png_error(decoder.png, "the rows are not numbers of one byte");
  }
  decoder.row_bytes = decoder.width;
  return true;
}

bool read_rows(PngDecoder& decoder, uint8_t* pixels) {
  if (setjmp(png_jmpbuf(decoder.png)) != 0) return false;
  for (; decoder.passes > 0; --decoder.passes) {
    for (decoder.row = 0; decoder.row < decoder.height; ++decoder.row) {
      png_read_row(decoder.png, pixels + decoder.row_bytes * decoder.row, nullptr);
    }
  }
  png_read_end(decoder.png, nullptr);
  return true;
}

class PngReader : public PixelReader {
 public:
  PngReader(std::span<const uint8_t> bytes, const std::string& place, const DecodeLimits& limits)
      : bytes_(bytes), place_(place) {
    try {
      reopen();
      size_ = {static_cast<int64_t>(decoder_.height), static_cast<int64_t>(decoder_.width)};
      check(limits);
    } catch (...) {
      close();
      throw;
    }
  }
  ~PngReader() override { close(); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  ImageSize size() const override { return size_; }

  void read(Image& into) override { read(into, 3, start); }

  void read_numbers(Image& into) {
    const bool grey = decoder_.colour == PNG_COLOR_TYPE_GRAY;
    const bool palette = decoder_.colour == PNG_COLOR_TYPE_PALETTE;
    if (!palette && !(grey && decoder_.depth <= 8)) {
      throw IoError(place_,
                    ": a mask has a class number for each pixel: expected a grey PNG of up ",
                    "to 8 bits, or one with a palette, got one ",
                    grey ? "of 16 bits" : "with colours or transparency");
    }
    read(into, 1, start_numbers);
  }

  // The rows of a PNG build on each other: all have to be read.
  RealBox read_region(const RegionRequest& request, Image& into) override {
    read(into);
    return real(request.box);
  }

 private:
  void read(Image& into, int64_t channels, bool (*begin)(PngDecoder&)) {
    if (used_) reopen();
    used_ = true;
    if (!begin(decoder_)) fail();
    into.reset(size_, channels);
    if (!read_rows(decoder_, into.pixels.data())) fail();
  }

  void reopen() {
    close();
    decoder_ = PngDecoder{};
    decoder_.next = bytes_.data();
    decoder_.left = bytes_.size();
    if (!open(decoder_)) fail();
  }

  void close() { png_destroy_read_struct(&decoder_.png, &decoder_.info, nullptr); }

  void check(const DecodeLimits& limits) const {
    check_size(size_, place_, limits);
    const auto bits = uint64_t{png_get_channels(decoder_.png, decoder_.info)} *
                      static_cast<uint64_t>(decoder_.depth) * decoder_.width;
    const uint64_t stored = (bits + 7) / 8 * decoder_.height;
    if (stored > kMostGrowth * bytes_.size()) {
      throw IoError(place_, ": PNG of ", size_, " is cut short: ", bytes_.size(),
                    " bytes cannot hold the ", stored, " bytes of its pixels");
    }
  }

  [[noreturn]] void fail() const {
    throw IoError(place_, ": damaged PNG of ", bytes_.size(), " bytes: ", decoder_.text);
  }

  std::span<const uint8_t> bytes_;
  std::string place_;
  ImageSize size_;
  PngDecoder decoder_{};
  bool used_ = false;
};

}  // namespace

bool looks_like_png(std::span<const uint8_t> bytes) {
  return bytes.size() >= kSignature.size() &&
         std::equal(kSignature.begin(), kSignature.end(), bytes.begin());
}

std::unique_ptr<PixelReader> open_png(std::span<const uint8_t> bytes, const std::string& place,
                                      const DecodeLimits& limits) {
  return std::make_unique<PngReader>(bytes, place, limits);
}

void read_png_numbers(std::span<const uint8_t> bytes, const std::string& place,
                      const DecodeLimits& limits, Image& into) {
  PngReader(bytes, place, limits).read_numbers(into);
}

}  // namespace pando::data

namespace pando {

std::vector<uint8_t> encode_png(const ImageView& image) {
  if (image.channels != 1 && image.channels != 3) {
    throw InvalidArgument("encode_png: ", image.channels, " channels, expected 1 or 3");
  }
  if (image.size.height < 1 || image.size.width < 1) {
    throw InvalidArgument("encode_png: image of ", image.size, ", expected at least one pixel");
  }
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.height = static_cast<png_uint_32>(image.size.height);
  header.width = static_cast<png_uint_32>(image.size.width);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t count = 0;
  const auto write = [&](void* to) {
    return png_image_write_to_memory(&header, to, &count, 0, image.pixels, 0, nullptr) != 0;
  };
  PANDO_CHECK(write(nullptr), header.message);
  std::vector<uint8_t> file(count);
  PANDO_CHECK(write(file.data()), header.message);
  file.resize(count);
  return file;
}

}  // namespace pando
