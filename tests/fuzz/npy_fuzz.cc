// Reads any bytes as an array of NumPy. Expects a tensor or an IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/sources/numpy/npy.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::npy(Input input) {
  try {
    data::parse_npy(input, "fuzz");
  } catch (const IoError&) {
  }
}
