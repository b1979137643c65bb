// SPDX-License-Identifier: MIT
#include "pando/ops/pool_rules.h"

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

std::vector<AttributeSpec> pool_attributes() {
  auto attributes = padding_attributes();
  attributes.push_back({"ceil_mode", int64_t{0}, {}});
  attributes.push_back({"window", ir::Ints{}, {}});
  attributes.push_back({"strides", ir::Ints{}, {}});
  return attributes;
}

std::vector<AttributeSpec> pool_grad_attributes() {
  auto attributes = pool_attributes();
  attributes.push_back({"input", ir::Ints{}, {}});
  return attributes;
}

void check_index_fits(const ir::Node& node, const Windows& windows) {
  if (positions(windows) > kMaxIndexPositions) {
    throw InvalidArgument(node.label(), ": window ", ir::to_text(ints_attribute(node, "window")),
                          " has ", positions(windows), " positions; max pooling supports up to ",
                          kMaxIndexPositions);
  }
}

Windows check_pool(const ir::Node& node) {
  require_dtype(node, 0, DType::f32);
  require_rank(node, 0, 4, 5);
  return pool_windows(node);
}

Windows check_pool_grad(const ir::Node& node) {
  Windows windows = check_pool(node);
  const Shape& dy = node.input(0)->shape();
  require_shape(node, 0, channels_last(dy[0], output_extents(windows), dy.back()));
  return windows;
}

}  // namespace pando::ops
