// 1 for a sample whose label is among its k largest predictions, else 0; with several pixels per
// sample, the share of right pixels among those that have a label. With k = 1 the label must
// be the first maximum; with larger k, fewer than k predictions may exceed that of the label. A NaN
// is never counted as right.
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
                if (k < 1) {
                  throw InvalidArgument(node.label(), ": k: expected at least 1, got ", k);
                }
                return std::vector{f32({node.input(0)->shape()[0]})};
              },
          .exact = {"labels", "hit"}};
}

}  // namespace pando::ops
