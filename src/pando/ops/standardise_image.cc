// y = (x - mean) / deviation, with the mean and the population standard deviation over all pixels
// and channels of each sample. A sample of one colour, whose deviation is zero, becomes zeros.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/pixel_rules.h"

namespace pando::ops {

OpDef standardise_image_op() {
  return {.name = "standardise_image",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"channels", int64_t{0}, {}}},
          .infer =
              [](const ir::Node& node) { return std::vector<ir::TensorType>{pixel_numbers(node)}; },
          .grad =
              [](const ir::Node& node, std::span<ir::Value* const>, GradBuilder&) {
                throw Unsupported(node.label(),
                                  ": has no gradient; put it before all layers that are trained");
              }};
}

}  // namespace pando::ops
