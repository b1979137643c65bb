// SPDX-License-Identifier: MIT
#include "pando/tensor/shape.h"

#include "pando/base/error.h"

namespace pando {

int64_t Shape::elements() const { return elements_from(0); }

int64_t Shape::elements_from(int first) const {
  int64_t count = 1;
  for (int axis = first; axis < rank(); ++axis) {
    const int64_t extent = (*this)[axis];
    if (extent < 0) throw InvalidArgument("shape ", to_string(*this), " has a negative extent");
    if (__builtin_mul_overflow(count, extent, &count)) {
      throw InvalidArgument("shape ", to_string(*this), " has too many elements");
    }
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ",";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

}  // namespace pando
