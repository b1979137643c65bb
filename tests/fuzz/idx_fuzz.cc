// Reads any bytes as an IDX file, raw or gzip. Expects a tensor or an IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/sources/idx.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::idx(Input input) {
  try {
    parse_idx(input, "fuzz");
  } catch (const IoError&) {
  }
}
