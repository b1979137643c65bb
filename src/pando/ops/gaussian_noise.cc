// Adds normally distributed noise of mean 0. The noise is a pure function of the run's seed, the
// node's key, the sample and the element, as in dropout.cc.
// SPDX-License-Identifier: MIT
#include "pando/base/error.h"
#include "pando/ops/all_ops.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/shape_rules.h"

namespace pando::ops {

OpDef gaussian_noise_op() {
  return {.name = "gaussian_noise",
          .inputs = {{"x"}},
          .outputs = {"y"},
          .attributes = {{"stddev", 1.0}, {"key", int64_t{0}}},
          .traits = {Trait::in_place},
          .infer =
              [](const ir::Node& node) {
                const double deviation = number_attribute(node, "stddev");
                if (!(deviation >= 0)) {
                  throw InvalidArgument(node.label(), ": stddev: expected 0 or more, got ",
                                        deviation);
                }
                require_rank(node, 0, 1, 5);
                return same_f32_as_all_inputs()(node);
              },
          .grad = [](const ir::Node& node, std::span<ir::Value* const> dy,
                     GradBuilder& grad) { grad.add(node.input(0), dy[0]); }};
}

}  // namespace pando::ops
