// Reads any bytes as a file of kernel choices. Expects choices or an IoError.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/runtime/tuning/tuning_file.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::tuning_file(Input input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    runtime::parse_decisions(text, {"A processor", "avx2", "1", 2});
  } catch (const IoError&) {
  }
}
