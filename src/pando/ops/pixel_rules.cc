// SPDX-License-Identifier: MIT
#include "pando/ops/pixel_rules.h"

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

void require_pixels(const ir::Node& node) {
  require_rank(node, 0, 4, 4);
  const ir::TensorType& type = node.input(0)->type();
  if (type.dtype == DType::u8 || type.dtype == DType::f32) return;
  throw InvalidArgument(node.label(), ": input 0: expected u8 or f32, got ", to_string(type));
}

ir::TensorType pixel_numbers(const ir::Node& node) {
  require_pixels(node);
  Shape shape = node.input(0)->shape();
  const int64_t wanted = int_attribute(node, "channels");
  if (wanted != 0 && wanted < shape.back()) {
    throw InvalidArgument(node.label(), ": channels: expected 0 or at least the ", shape.back(),
                          " of the input, got ", wanted);
  }
  if (wanted != 0) shape[3] = wanted;
  return f32(shape);
}

}  // namespace pando::ops
