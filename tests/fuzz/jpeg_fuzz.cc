// Reads any bytes as a JPEG image. Expects pixels or an error.
// SPDX-License-Identifier: MIT
#include "pando/data/image/jpeg.h"
#include "tests/fuzz/image_fuzz.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::jpeg(Input input) {
  if (data::looks_like_jpeg(input)) read_image(input);
}
