// Reads any bytes as a PNG image and as a mask. Expects pixels or an error. Corrects the checksums
// of the chunks first: otherwise few inputs would pass them.
// SPDX-License-Identifier: MIT
#include <vector>

#include <zlib.h>

#include "pando/data/image/mask.h"
#include "pando/data/image/png.h"
#include "tests/fuzz/image_fuzz.h"
#include "tests/fuzz/targets.h"

namespace {

// A chunk is its length, its name, its data and the checksum of name and data.
void repair_checksums(std::vector<uint8_t>& file) {
  size_t at = 8;
  while (at + 12 <= file.size()) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | file[at + i];
    if (length > file.size() - at - 12) return;
    const auto sum = crc32(0, file.data() + at + 4, static_cast<uInt>(length + 4));
    for (size_t i = 0; i < 4; ++i) {
      file[at + 8 + length + i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    }
    at += length + 12;
  }
}

}  // namespace

void pando::fuzz::png(Input input) {
  if (!data::looks_like_png(input)) return;
  std::vector<uint8_t> file(input.begin(), input.end());
  repair_checksums(file);
  read_image(file);
  try {
    Image mask;
    read_mask(file, "input", {.max_pixels = 1 << 18}, mask);
    PANDO_CHECK(mask.channels == 1);
  } catch (const IoError&) {
  }
}
