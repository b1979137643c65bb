// Writes JPEG. The rules about jumps in jpeg.cc apply here too.
// SPDX-License-Identifier: MIT
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it first
#include <cstdlib>

#include <jpeglib.h>

#include "pando/base/error.h"
#include "pando/data/image/jpeg.h"

namespace pando {

namespace {

struct Encoder {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
  unsigned char* bytes;  // allocated by malloc
  unsigned long count;   // NOLINT(google-runtime-int): libjpeg's type
};

[[noreturn]] void jump_back(j_common_ptr info) {
  auto* encoder = static_cast<Encoder*>(info->client_data);
  encoder->errors.format_message(info, encoder->text);
  longjmp(encoder->jump, 1);
}

bool encode(Encoder& encoder, const ImageView& image, const JpegOptions& options) {
  jpeg_compress_struct& info = encoder.info;
  info.err = jpeg_std_error(&encoder.errors);
  info.client_data = &encoder;
  encoder.errors.error_exit = jump_back;
  if (setjmp(encoder.jump) != 0) return false;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &encoder.bytes, &encoder.count);
  info.image_height = static_cast<JDIMENSION>(image.size.height);
  info.image_width = static_cast<JDIMENSION>(image.size.width);
  info.input_components = static_cast<int>(image.channels);
  info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  if (options.full_colour) info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  if (options.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    // libjpeg only reads the row, but does not say so.
    JSAMPROW row = const_cast<uint8_t*>(image.row(info.next_scanline));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::vector<uint8_t> encode_jpeg(const ImageView& image, const JpegOptions& options) {
  if (image.channels != 1 && image.channels != 3) {
    throw InvalidArgument("encode_jpeg: ", image.channels, " channels, expected 1 or 3");
  }
  if (image.size.height < 1 || image.size.width < 1 || image.size.height > JPEG_MAX_DIMENSION ||
      image.size.width > JPEG_MAX_DIMENSION) {
    throw InvalidArgument("encode_jpeg: image of ", image.size, ", expected sides of 1 to ",
                          JPEG_MAX_DIMENSION);
  }
  if (options.quality < 1 || options.quality > 100) {
    throw InvalidArgument("encode_jpeg: quality ", options.quality, ", expected 1 to 100");
  }
  Encoder encoder{};
  const bool done = encode(encoder, image, options);
  std::vector<uint8_t> file;
  if (done) file.assign(encoder.bytes, encoder.bytes + encoder.count);
  jpeg_destroy_compress(&encoder.info);
  std::free(encoder.bytes);
  PANDO_CHECK(done, encoder.text);
  return file;
}

}  // namespace pando
