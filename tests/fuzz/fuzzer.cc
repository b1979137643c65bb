// The entry point of libFuzzer. It calls one target, which the build names.
// SPDX-License-Identifier: MIT
#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  pando::fuzz::PANDO_FUZZ_TARGET({bytes, size});
  return 0;
}
