// Finds the element of one tensor that belongs to an element of another, for reference kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "pando/tensor/shape.h"

namespace pando::kernels {

struct StridedPlaces {
  explicit StridedPlaces(const Shape& shape)
      : whole(shape), strides(static_cast<size_t>(shape.rank()), 0) {}

  // The place of element `i` of `whole`.
  int64_t place(int64_t i) const {
    int64_t place = 0;
    for (int axis = whole.rank() - 1; axis >= 0; --axis) {
      place += i % whole[axis] * strides[static_cast<size_t>(axis)];
      i /= whole[axis];
    }
    return place;
  }

  Shape whole;
  std::vector<int64_t> strides;  // in the other tensor; 0 where its elements are repeated or joined
};

}  // namespace pando::kernels
