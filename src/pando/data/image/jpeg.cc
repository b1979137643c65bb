// SPDX-License-Identifier: MIT
#include "pando/data/image/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it first
#include <cstring>

#include <jpeglib.h>
// After jpeglib.h: the settings in it determine the numbers of the messages.
#include <jerror.h>

#include "pando/data/image/pixel_reader_impl.h"

// libjpeg reports errors by a function that must not return. Ours jumps back into the function that
// called libjpeg. The functions that call libjpeg are plain C: nothing in them has a destructor
// that a jump could skip, and all that they change while libjpeg runs is in the JpegDecoder.

namespace pando::data {

namespace {

// Progressive files have about ten scans; each is a pass over the whole image, so thousands of them
// in a small file would keep a worker busy for minutes.
constexpr int kMostScans = 200;
// Columns beside the box that the interpolation of subsampled colour looks at.
constexpr int64_t kMargin = 2;

struct ErrorHandler {
  jpeg_error_mgr base;  // first: libjpeg hands out a pointer to it
  jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void jump_back(j_common_ptr info) {
  auto* errors = reinterpret_cast<ErrorHandler*>(info->err);
  errors->base.format_message(info, errors->text);
  longjmp(errors->jump, 1);
}

// libjpeg continues with grey pixels after these warnings; for training data that is an error.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // a trace message
  switch (info->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION: jump_back(info);
    default:
      ++info->err->num_warnings;  // such as extra bytes before a marker: the pixels are complete
  }
}

struct JpegDecoder {
  jpeg_decompress_struct info;
  jpeg_progress_mgr progress;
  ErrorHandler errors;
  bool created;
  // The region that start() makes libjpeg decode: columns as libjpeg aligned them.
  JDIMENSION x, y, width, height;
  uint8_t* row;  // the next row of the output
};

void on_progress(j_common_ptr info) {
  auto* decoder = reinterpret_cast<jpeg_decompress_struct*>(info);
  if (decoder->input_scan_number <= kMostScans) return;
  auto* errors = reinterpret_cast<ErrorHandler*>(info->err);
  std::snprintf(errors->text, sizeof errors->text, "more than %d scans, expected about 10",
                kMostScans);
  longjmp(errors->jump, 1);
}

bool open(JpegDecoder& decoder, const uint8_t* bytes, size_t count) {
  decoder.info.err = jpeg_std_error(&decoder.errors.base);
  decoder.errors.base.error_exit = jump_back;
  decoder.errors.base.emit_message = on_message;
  if (setjmp(decoder.errors.jump) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  decoder.created = true;
  decoder.progress.progress_monitor = on_progress;
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, bytes, count);
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

bool reopen(JpegDecoder& decoder, const uint8_t* bytes, size_t count) {
  if (setjmp(decoder.errors.jump) != 0) return false;
  jpeg_abort_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, bytes, count);
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

// Requires: x, y, width and height of the decoder lie inside the image at 1 / shrink of its size.
bool start(JpegDecoder& decoder, unsigned shrink, bool whole_rows) {
  if (setjmp(decoder.errors.jump) != 0) return false;
  jpeg_decompress_struct& info = decoder.info;
  info.scale_num = 8 / shrink;
  info.scale_denom = 8;
  info.out_color_space = info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&info);
  if (!whole_rows) jpeg_crop_scanline(&info, &decoder.x, &decoder.width);
  if (decoder.y > 0) jpeg_skip_scanlines(&info, decoder.y);
  return true;
}

bool read_rows(JpegDecoder& decoder, size_t stride) {
  if (setjmp(decoder.errors.jump) != 0) return false;
  while (decoder.info.output_scanline < decoder.y + decoder.height) {
    JSAMPROW row = decoder.row;
    if (jpeg_read_scanlines(&decoder.info, &row, 1) == 1) decoder.row += stride;
  }
  return true;
}

// Looks at what follows the last row, so that a file that is cut there is noticed too.
bool finish(JpegDecoder& decoder) {
  if (setjmp(decoder.errors.jump) != 0) return false;
  jpeg_finish_decompress(&decoder.info);
  return true;
}

// Adobe's programs store 255 - ink and say so by their marker; without it 255 is full ink.
void convert_cmyk(const Image& from, bool inverted, Image& to) {
  to.reset(from.size);
  const auto pixels = static_cast<size_t>(from.size.pixels());
  const uint8_t flip = inverted ? 0 : 255;
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* in = from.pixels.data() + 4 * i;
    const int light = in[3] ^ flip;
    for (size_t c = 0; c < 3; ++c) {
      to.pixels[3 * i + c] = static_cast<uint8_t>(((in[c] ^ flip) * light + 127) / 255);
    }
  }
}

unsigned shrink_for(const RegionRequest& request) {
  unsigned shrink = 1;
  if (!request.may_shrink) return shrink;
  const auto fits = [&](int64_t factor) {
    return request.box.height >= factor * request.target.height &&
           request.box.width >= factor * request.target.width;
  };
  while (shrink < 8 && fits(2 * shrink)) shrink *= 2;
  return shrink;
}

class JpegReader : public PixelReader {
 public:
  JpegReader(std::span<const uint8_t> bytes, const std::string& place, const DecodeLimits& limits)
      : bytes_(bytes), place_(place) {
    if (!open(decoder_, bytes.data(), bytes.size())) fail_constructed();
    size_ = {static_cast<int64_t>(decoder_.info.image_height),
             static_cast<int64_t>(decoder_.info.image_width)};
    try {
      check(limits);
    } catch (...) {
      jpeg_destroy_decompress(&decoder_.info);
      throw;
    }
  }
  ~JpegReader() override { jpeg_destroy_decompress(&decoder_.info); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  ImageSize size() const override { return size_; }
  bool cmyk() const override { return decoder_.info.num_components == 4; }

  void read(Image& into) override {
    rewind();
    decoder_.x = decoder_.y = 0;
    decoder_.width = decoder_.info.image_width;
    decoder_.height = decoder_.info.image_height;
    if (!start(decoder_, 1, true)) fail();
    read_pixels(into);
    if (!finish(decoder_)) fail();
  }

  RealBox read_region(const RegionRequest& request, Image& into) override {
    rewind();
    const int64_t shrink = shrink_for(request);
    const PixelBox& box = request.box;
    const ImageSize shrunk = {(size_.height + shrink - 1) / shrink,
                              (size_.width + shrink - 1) / shrink};
    const int64_t left = std::max<int64_t>(box.x / shrink - kMargin, 0);
    const int64_t right =
        std::min((box.x + box.width + shrink - 1) / shrink + kMargin, shrunk.width);
    const int64_t top = box.y / shrink;
    const int64_t bottom = std::min((box.y + box.height + shrink - 1) / shrink, shrunk.height);
    decoder_.x = static_cast<JDIMENSION>(left);
    decoder_.width = static_cast<JDIMENSION>(right - left);
    decoder_.y = static_cast<JDIMENSION>(top);
    decoder_.height = static_cast<JDIMENSION>(bottom - top);
    const bool whole_rows = left == 0 && right == shrunk.width;
    if (!start(decoder_, static_cast<unsigned>(shrink), whole_rows)) fail();
    read_pixels(into);
    const auto factor = static_cast<double>(shrink);
    return {static_cast<double>(box.y) / factor - static_cast<double>(decoder_.y),
            static_cast<double>(box.x) / factor - static_cast<double>(decoder_.x),
            static_cast<double>(box.height) / factor, static_cast<double>(box.width) / factor};
  }

 private:
  void check(const DecodeLimits& limits) const {
    check_size(size_, place_, limits);
    const int components = decoder_.info.num_components;
    if (components != 1 && components != 3 && components != 4) {
      throw Unsupported(place_, ": JPEG with ", components, " components, expected 1, 3 or 4");
    }
    // The end marker cannot occur inside compressed pixels, so a cut file has none after its
    // header. Regions are read without reaching the end of the file, hence the check here.
    const size_t header = bytes_.size() - decoder_.info.src->bytes_in_buffer;
    for (size_t end = bytes_.size(); end >= header + 2; --end) {
      if (bytes_[end - 2] == 0xff && bytes_[end - 1] == JPEG_EOI) return;
    }
    throw IoError(place_, ": JPEG of ", size_, " is cut short: its ", bytes_.size(),
                  " bytes have no end marker (ff d9) after the header");
  }

  void rewind() {
    if (!used_) {
      used_ = true;
    } else if (!reopen(decoder_, bytes_.data(), bytes_.size())) {
      fail();
    }
  }

  void read_pixels(Image& into) {
    const bool cmyk = decoder_.info.num_components == 4;
    Image& decoded = cmyk ? cmyk_ : into;
    decoded.reset({decoder_.height, decoder_.width}, cmyk ? 4 : 3);
    PANDO_CHECK(decoder_.info.output_width == decoder_.width);
    decoder_.row = decoded.pixels.data();
    if (!read_rows(decoder_, size_t{decoder_.width} * static_cast<size_t>(decoded.channels))) {
      fail();
    }
    if (cmyk) convert_cmyk(cmyk_, decoder_.info.saw_Adobe_marker != FALSE, into);
  }

  [[noreturn]] void fail() const {
    throw IoError(place_, ": damaged JPEG of ", bytes_.size(), " bytes, ", size_,
                  " pixels: ", decoder_.errors.text);
  }
  [[noreturn]] void fail_constructed() {
    if (decoder_.created) jpeg_destroy_decompress(&decoder_.info);
    throw IoError(place_, ": damaged JPEG of ", bytes_.size(), " bytes: ", decoder_.errors.text);
  }

  std::span<const uint8_t> bytes_;
  std::string place_;
  ImageSize size_;
  JpegDecoder decoder_{};
  bool used_ = false;
  Image cmyk_;
};

}  // namespace

bool looks_like_jpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

std::unique_ptr<PixelReader> open_jpeg(std::span<const uint8_t> bytes, const std::string& place,
                                       const DecodeLimits& limits) {
  return std::make_unique<JpegReader>(bytes, place, limits);
}

}  // namespace pando::data
