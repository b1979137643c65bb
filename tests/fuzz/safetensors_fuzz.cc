// Reads any bytes as a safetensors file. Expects tensors whose bytes are in the file, or IoError.
// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "pando/base/error.h"
#include "pando/store/safetensors.h"
#include "tests/fuzz/targets.h"

void pando::fuzz::safetensors(Input input) {
  try {
    const store::SafetensorsFile file = store::parse_safetensors(input, "fuzz");
    size_t elements = 0;
    for (const store::NamedWeight& tensor : file.tensors) {
      elements += static_cast<size_t>(tensor.value.elements());
    }
    if (elements > input.size()) std::abort();
  } catch (const IoError&) {
  }
}
