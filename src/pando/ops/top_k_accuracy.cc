// 1 for a sample whose label is among its k largest predictions, else 0. For k = 1 that is the
// first maximum; for larger k, fewer than k predictions exceed the label's. A NaN is never right.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/loss_rules.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef top_k_accuracy_op() {
  return {.name = "top_k_accuracy",
          .inputs = {{"predictions"}, {"labels"}},
          .outputs = {"hit"},
          .attributes = {{"k", int64_t{1}, {}}},
          .traits = {Trait::no_grad},
          .infer =
              [](const ir::Node& node) {
                check_labels(node, 1);
                const int64_t k = int_attribute(node, "k");
                if (k < 1) throw InvalidArgument(node.label(), ": k is ", k, ", wanted >= 1");
                return std::vector{f32({node.input(0)->shape()[0]})};
              },
          .exact = {"labels", "hit"}};
}

}  // namespace pando::ops
