// Arrays in memory as a data set, with 8-bit storage for f32 fields.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/data/dataset.h"

namespace pando {

// One field: row i of `values` belongs to sample i.
struct ArrayField {
  std::string name;
  Tensor values;
  // Keeps u8 values in memory and gathers them as f32, multiplied by this.
  std::optional<float> scale = std::nullopt;
};

// Throws InvalidArgument when the first extents differ or a scaled array is not u8.
Dataset from_arrays(std::vector<ArrayField> arrays);

}  // namespace pando
