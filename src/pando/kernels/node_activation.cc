// SPDX-License-Identifier: MIT
#include "pando/kernels/node_activation.h"

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/op.h"

namespace pando::kernels {

NodeActivation node_activation(const ir::Node& node) {
  if (ops::definition(node).attribute("activation") == nullptr) return {};
  const std::string name = ops::text_attribute(node, "activation");
  if (name == "relu") return {.kind = Activation::relu};
  if (name == "none") return {};
  PANDO_CHECK(name == "leaky_relu", node.label(), ": no kernel applies activation '", name, "'");
  return {.kind = Activation::leaky_relu,
          .alpha = static_cast<float>(ops::number_attribute(node, "alpha"))};
}

}  // namespace pando::kernels
