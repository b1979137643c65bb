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

double normal(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

double near_gelu_slope(double x) {
  const double s = exact_sigmoid(kGeluFactor * (x + kGeluCubic * x * x * x));
  // Beyond 100 the second term is 0, but would be computed as 0 times infinity.
  if (std::fabs(x) > 100) return s;
  return s + x * s * (1 - s) * kGeluFactor * (1 + 3 * kGeluCubic * x * x);
}

double number(const ir::Node& node, const char* name) { return ops::number_attribute(node, name); }

double product(double x, double factor) { return factor == 0 ? 0 : x * factor; }

}  // namespace

KernelOffer reference_elu(const ir::Node& node) {
  return value_of(node, [a = number(node, "alpha")](double x) { return exact_elu(x, a); });
}
KernelOffer reference_elu_grad(const ir::Node& node) {
  return slope_of(node, [a = number(node, "alpha")](double y) { return y > 0 ? 1 : y + a; });
}

KernelOffer reference_selu(const ir::Node& node) { return value_of(node, exact_selu); }
KernelOffer reference_selu_grad(const ir::Node& node) {
  return slope_of(node, [](double y) { return y > 0 ? kSeluScale : y + kSeluScale * kSeluAlpha; });
}

KernelOffer reference_gelu(const ir::Node& node) {
  return value_of(node, number(node, "approximate") != 0 ? exact_near_gelu : exact_gelu);
}
KernelOffer reference_gelu_grad(const ir::Node& node) {
  if (number(node, "approximate") != 0) return slope_of(node, near_gelu_slope);
  return slope_of(node, [](double x) { return normal(x) + product(x, normal_density(x)); });
}

KernelOffer reference_swish(const ir::Node& node) { return value_of(node, exact_swish); }
KernelOffer reference_swish_grad(const ir::Node& node) {
  return slope_of(node, [](double x) {
    const double s = exact_sigmoid(x);
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

KernelOffer reference_softplus(const ir::Node& node) { return value_of(node, exact_softplus); }
KernelOffer reference_softplus_grad(const ir::Node& node) { return slope_of(node, exact_sigmoid); }

KernelOffer reference_mish(const ir::Node& node) { return value_of(node, exact_mish); }
KernelOffer reference_mish_grad(const ir::Node& node) {
  return slope_of(node, [](double x) {
    const double t = std::tanh(exact_softplus(x));
    return t + product(x, (1 - t * t) * exact_sigmoid(x));
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
