// SPDX-License-Identifier: MIT
#include "pando/ops/activation_attribute.h"

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"

namespace pando::ops {

std::vector<AttributeSpec> with_activation(std::vector<AttributeSpec> own) {
  own.push_back({"activation", std::string("none"), {"none", "relu", "leaky_relu"}});
  own.push_back({"alpha", 0.0, {}});
  return own;
}

void check_activation(const ir::Node& node) {
  // Written so that a NaN is refused too.
  const double alpha = number_attribute(node, "alpha");
  if (!(alpha >= 0)) throw InvalidArgument(node.label(), ": alpha is ", alpha, ", wanted >= 0");
}

void require_no_activation(const ir::Node& node) {
  const std::string activation = text_attribute(node, "activation");
  if (activation != "none") {
    throw Unsupported(node.label(), ": no gradient with activation \"", activation,
                      "\"; take gradients before fusion");
  }
}

}  // namespace pando::ops
