// Reads any bytes as an archive of NumPy. Expects tensors or an IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/data/sources/numpy/npy.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::npz(Input input) {
  try {
    data::parse_npz(input, "fuzz");
  } catch (const IoError&) {
  }
}
