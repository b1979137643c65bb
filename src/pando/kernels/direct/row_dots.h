// Dot products of rows, for products with too few columns to fill a vector.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace pando::kernels::direct {

struct RowDotsArgs {
  const float* rows = nullptr;  // [count][length]
  int64_t count = 0;
  int64_t length = 0;
  const float* other = nullptr;  // [length]
  float* y = nullptr;            // [count]
};

// y[i] = rows[i] . other. The bits of y[i] do not depend on the other rows.
void row_dots(const RowDotsArgs& args);

}  // namespace pando::kernels::direct
