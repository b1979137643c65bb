// Arrays in memory as a data set, with 8-bit storage for f32 fields.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
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

namespace data {
// The rows of an array whose labels are not negative.
Tensor rows_with_label(const Tensor& rows, std::span<const int32_t> labels);
}  // namespace data

}  // namespace pando
