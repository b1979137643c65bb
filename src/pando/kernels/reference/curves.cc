// The activations of ops/curves.cc and their gradients.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <numbers>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// out[i] = value(in[i]), in double precision.
template <typename Value>
KernelOffer value_of(const ir::Node& node, Value value) {
  const int64_t count = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      args.out()[i] = static_cast<float>(value(static_cast<double>(args.in(0)[i])));
    }
  });
}

// dx[i] = dy[i] * slope(at[i]).
template <typename Slope>
KernelOffer slope_of(const ir::Node& node, Slope slope) {
  const int64_t count = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<double>(args.in(1)[i]);
      args.out()[i] = static_cast<float>(static_cast<double>(args.in(0)[i]) * slope(at));
    }
  });
}

// The constants of "Self-Normalizing Neural Networks" (2017).
constexpr double kSeluAlpha = 1.6732632423543772848;
constexpr double kSeluScale = 1.0507009873554804934;

double logistic(double x) {
  const double e = std::exp(-std::fabs(x));  // cannot overflow
  return (x < 0 ? e : 1) / (1 + e);
}
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double normal(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// The sigmoid whose product with x approximates gelu, and its derivative.
constexpr double kGeluCubic = 0.044715;
const double kGeluFactor = 2 * std::sqrt(2 / std::numbers::pi);
double near_normal(double x) { return logistic(kGeluFactor * (x + kGeluCubic * x * x * x)); }
double near_gelu_slope(double x) {
  const double s = near_normal(x);
  // Beyond 100 the second term is 0, but would be computed as 0 times infinity.
  if (std::fabs(x) > 100) return s;
  return s + x * s * (1 - s) * kGeluFactor * (1 + 3 * kGeluCubic * x * x);
}

double number(const ir::Node& node, const char* name) { return ops::number_attribute(node, name); }

double product(double x, double factor) { return factor == 0 ? 0 : x * factor; }

}  // namespace

KernelOffer reference_elu(const ir::Node& node) {
  return value_of(node,
                  [a = number(node, "alpha")](double x) { return x > 0 ? x : a * std::expm1(x); });
}
KernelOffer reference_elu_grad(const ir::Node& node) {
  return slope_of(node, [a = number(node, "alpha")](double y) { return y > 0 ? 1 : y + a; });
}

KernelOffer reference_selu(const ir::Node& node) {
  return value_of(node,
                  [](double x) { return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x)); });
}
KernelOffer reference_selu_grad(const ir::Node& node) {
  return slope_of(node, [](double y) { return y > 0 ? kSeluScale : y + kSeluScale * kSeluAlpha; });
}

KernelOffer reference_gelu(const ir::Node& node) {
  if (number(node, "approximate") != 0) {
    return value_of(node, [](double x) { return product(x, near_normal(x)); });
  }
  return value_of(node, [](double x) { return product(x, normal(x)); });
}
KernelOffer reference_gelu_grad(const ir::Node& node) {
  if (number(node, "approximate") != 0) return slope_of(node, near_gelu_slope);
  return slope_of(node, [](double x) { return normal(x) + product(x, normal_density(x)); });
}

KernelOffer reference_swish(const ir::Node& node) { return value_of(node, exact_swish); }
KernelOffer reference_swish_grad(const ir::Node& node) {
  return slope_of(node, [](double x) {
    const double s = logistic(x);
    return s + product(x, s * (1 - s));
  });
}

KernelOffer reference_hard_sigmoid(const ir::Node& node) {
  return value_of(node, [a = number(node, "alpha"), b = number(node, "beta")](double x) {
    const double y = a * x + b;
    return y < 0 ? 0 : y > 1 ? 1 : y;
  });
}
KernelOffer reference_hard_sigmoid_grad(const ir::Node& node) {
  return slope_of(node, [a = number(node, "alpha")](double y) { return y > 0 && y < 1 ? a : 0; });
}

KernelOffer reference_hard_swish(const ir::Node& node) { return value_of(node, exact_hard_swish); }
KernelOffer reference_hard_swish_grad(const ir::Node& node) {
  return slope_of(node, [](double x) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5; });
}

KernelOffer reference_softplus(const ir::Node& node) { return value_of(node, softplus); }
KernelOffer reference_softplus_grad(const ir::Node& node) { return slope_of(node, logistic); }

KernelOffer reference_mish(const ir::Node& node) {
  return value_of(node, [](double x) { return product(x, std::tanh(softplus(x))); });
}
KernelOffer reference_mish_grad(const ir::Node& node) {
  return slope_of(node, [](double x) {
    const double t = std::tanh(softplus(x));
    return t + product(x, (1 - t * t) * logistic(x));
  });
}

KernelOffer reference_clip(const ir::Node& node) {
  return value_of(node, [low = number(node, "min"), high = number(node, "max")](double x) {
    return x < low ? low : x > high ? high : x;
  });
}
KernelOffer reference_clip_grad(const ir::Node& node) {
  return slope_of(node, [low = number(node, "min"), high = number(node, "max")](double y) {
    return y > low && y < high ? 1 : 0;
  });
}

KernelOffer reference_relu6(const ir::Node& node) {
  return value_of(node, [](double x) { return x < 0 ? 0 : x > 6 ? 6 : x; });
}
KernelOffer reference_relu6_grad(const ir::Node& node) {
  return slope_of(node, [](double y) { return y > 0 && y < 6 ? 1 : 0; });
}

}  // namespace pando::kernels
