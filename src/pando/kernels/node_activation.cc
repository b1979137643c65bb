// SPDX-License-Identifier: MIT
#include "pando/kernels/node_activation.h"

#include <cmath>

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/op.h"

namespace pando::kernels {

double exact_swish(double x) {
  const double e = std::exp(-std::fabs(x));  // cannot overflow
  const double logistic = (x < 0 ? e : 1) / (1 + e);
  return logistic == 0 ? 0 : x * logistic;
}

double exact_hard_swish(double x) { return x <= -3 ? 0 : x >= 3 ? x : x * (x / 6 + 0.5); }

float NodeActivation::operator()(float x) const {
  switch (kind) {
    case Activation::none: return x;
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::leaky_relu: return x < 0 ? alpha * x : x;
    case Activation::relu6: return x < 0 ? 0 : (x > 6 ? 6 : x);
    case Activation::hard_swish: return static_cast<float>(exact_hard_swish(x));
    case Activation::swish: return static_cast<float>(exact_swish(x));
  }
  return x;
}

NodeActivation node_activation(const ir::Node& node) {
  if (ops::definition(node).attribute("activation") == nullptr) return {};
  const std::string name = ops::text_attribute(node, "activation");
  if (name == "none") return {};
  if (name == "relu") return {.kind = Activation::relu};
  if (name == "relu6") return {.kind = Activation::relu6};
  if (name == "hard_swish") return {.kind = Activation::hard_swish};
  if (name == "swish") return {.kind = Activation::swish};
  PANDO_CHECK(name == "leaky_relu", node.label(), ": no kernel applies activation '", name, "'");
  return {.kind = Activation::leaky_relu,
          .alpha = static_cast<float>(ops::number_attribute(node, "alpha"))};
}

}  // namespace pando::kernels
