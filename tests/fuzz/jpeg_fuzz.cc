// Any bytes as a JPEG image: pixels, or an error that says what is wrong.
// SPDX-License-Identifier: MIT
#include "pando/data/image/jpeg.h"
#include "tests/fuzz/image_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (pando::data::looks_like_jpeg({bytes, size})) pando::fuzz::read_image({bytes, size});
  return 0;
}
