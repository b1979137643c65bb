// Reads any bytes as EXIF data, alone and in an image. Expects one of the eight turns.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/image/exif.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::exif(Input input) {
  for (const data::Turn& turn : {data::turn_of_exif(input), data::turn_of_image(input)}) {
    const ImageSize size = turned(ImageSize{2, 3}, turn);
    PANDO_CHECK(size.pixels() == 6 && (size.width == 2) == turn.transpose);
  }
}
