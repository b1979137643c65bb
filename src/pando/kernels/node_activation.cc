// SPDX-License-Identifier: MIT
#include "pando/kernels/node_activation.h"

#include <cmath>
#include <map>
#include <numbers>
#include <string_view>

#include "pando/base/error.h"
#include "pando/ops/attribute_values.h"
#include "pando/ops/op.h"

namespace pando::kernels {

namespace {

double times(double x, double factor) { return factor == 0 ? 0 : x * factor; }

}  // namespace

double exact_sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));  // cannot overflow
  return (x < 0 ? e : 1) / (1 + e);
}

double exact_swish(double x) { return times(x, exact_sigmoid(x)); }

double exact_gelu(double x) { return times(x, 0.5 * std::erfc(-x / std::numbers::sqrt2)); }

double exact_near_gelu(double x) {
  return times(x, exact_sigmoid(kGeluFactor * (x + kGeluCubic * x * x * x)));
}

double exact_elu(double x, double alpha) { return x > 0 ? x : alpha * std::expm1(x); }

double exact_selu(double x) { return kSeluScale * exact_elu(x, kSeluAlpha); }

double exact_softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

double exact_mish(double x) { return times(x, std::tanh(exact_softplus(x))); }

double exact_hard_swish(double x) { return x <= -3 ? 0 : x >= 3 ? x : x * (x / 6 + 0.5); }

float NodeActivation::operator()(float x) const {
  switch (kind) {
    case Activation::none: return x;
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::leaky_relu: return x < 0 ? alpha * x : x;
    case Activation::relu6: return x < 0 ? 0 : (x > 6 ? 6 : x);
    case Activation::hard_swish: return static_cast<float>(exact_hard_swish(x));
    case Activation::swish: return static_cast<float>(exact_swish(x));
    case Activation::gelu: return static_cast<float>(exact_gelu(x));
    case Activation::near_gelu: return static_cast<float>(exact_near_gelu(x));
    case Activation::sigmoid: return static_cast<float>(exact_sigmoid(x));
    case Activation::tanh: return std::tanh(x);
    case Activation::elu: return static_cast<float>(exact_elu(x, alpha));
    case Activation::selu: return static_cast<float>(exact_selu(x));
    case Activation::softplus: return static_cast<float>(exact_softplus(x));
    case Activation::mish: return static_cast<float>(exact_mish(x));
  }
  return x;
}

NodeActivation node_activation(const ir::Node& node) {
  static const std::map<std::string_view, Activation> kinds = {
      {"none", Activation::none},
      {"relu", Activation::relu},
      {"leaky_relu", Activation::leaky_relu},
      {"relu6", Activation::relu6},
      {"hard_swish", Activation::hard_swish},
      {"swish", Activation::swish},
      {"gelu", Activation::gelu},
      {"sigmoid", Activation::sigmoid},
      {"tanh", Activation::tanh},
      {"elu", Activation::elu},
      {"selu", Activation::selu},
      {"softplus", Activation::softplus},
      {"mish", Activation::mish}};
  if (ops::definition(node).attribute("activation") == nullptr) return {};
  const std::string name = ops::text_attribute(node, "activation");
  const auto found = kinds.find(name);
  PANDO_CHECK(found != kinds.end(), node.label(), ": no kernel applies activation '", name, "'");
  switch (found->second) {
    case Activation::leaky_relu:
    case Activation::elu:
      return {.kind = found->second,
              .alpha = static_cast<float>(ops::number_attribute(node, "alpha"))};
    case Activation::gelu:
      if (ops::number_attribute(node, "approximate") != 0) return {.kind = Activation::near_gelu};
      break;
    default: break;
  }
  return {.kind = found->second};
}

}  // namespace pando::kernels
