// Any bytes as an IDX file, raw or gzip: a tensor or an IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/sources/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  try {
    pando::parse_idx({bytes, size}, "fuzz");
  } catch (const pando::IoError&) {
  }
  return 0;
}
