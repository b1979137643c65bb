// Arithmetic of two operands of which one may be repeated, PReLU, and repetition itself.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"
#include "pando/kernels/reference/reference.h"
#include "pando/kernels/reference/strided_places.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// The elements of an operand for those of the result. `shared`: the operand has no batch axis.
StridedPlaces repeated(const Shape& operand, const Shape& result, bool shared = false) {
  StridedPlaces places(result);
  int64_t stride = 1;
  for (int own = operand.rank() - 1; own >= (shared ? 0 : 1); --own) {
    const int axis = own + result.rank() - operand.rank();
    if (operand[own] > 1) places.strides[static_cast<size_t>(axis)] = stride;
    stride *= operand[own];
  }
  if (!shared) places.strides[0] = stride;
  return places;
}

// out[i] = function(a, b), or function(a, b, in2[i]) with three inputs.
template <typename Function>
KernelOffer repeated_function(const ir::Node& node, Function function, bool shared = false) {
  const Shape& shape = node.output()->shape();
  const StridedPlaces a = repeated(node.input(0)->shape(), shape);
  const StridedPlaces b = repeated(node.input(1)->shape(), shape, shared);
  const int64_t count = shape.elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      const float x = args.in(0)[a.place(i)];
      const float y = args.in(1)[b.place(i)];
      if constexpr (std::is_invocable_v<Function, float, float, float>) {
        args.out()[i] = function(x, y, args.in(2)[i]);
      } else {
        args.out()[i] = function(x, y);
      }
    }
  });
}

}  // namespace

KernelOffer reference_add(const ir::Node& node) {
  const NodeActivation activation = node_activation(node);
  return repeated_function(node, [=](float a, float b) { return activation(a + b); });
}
KernelOffer reference_subtract(const ir::Node& node) {
  return repeated_function(node, [](float a, float b) { return a - b; });
}
KernelOffer reference_multiply(const ir::Node& node) {
  return repeated_function(node, [](float a, float b) { return a * b; });
}
KernelOffer reference_divide(const ir::Node& node) {
  return repeated_function(node, [](float a, float b) { return a / b; });
}
KernelOffer reference_maximum(const ir::Node& node) {
  return repeated_function(node, [](float a, float b) { return a > b || std::isnan(a) ? a : b; });
}
KernelOffer reference_minimum(const ir::Node& node) {
  return repeated_function(node, [](float a, float b) { return a < b || std::isnan(a) ? a : b; });
}
KernelOffer reference_power(const ir::Node& node) {
  if (node.num_inputs() == 2) {
    return repeated_function(node, [](float a, float b) { return std::pow(a, b); });
  }
  const int64_t count = node.output()->shape().elements();
  const double exponent = ops::number_attribute(node, "exponent");
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) {
      args.out()[i] = static_cast<float>(std::pow(static_cast<double>(args.in(0)[i]), exponent));
    }
  });
}
KernelOffer reference_times_slope(const ir::Node& node) {
  return repeated_function(node, [](float dy, float slope) { return dy == 0 ? 0 : dy * slope; });
}
KernelOffer reference_keep_at_least(const ir::Node& node) {
  return repeated_function(node, [](float a, float b, float dy) { return a >= b ? dy : 0; });
}

KernelOffer reference_prelu(const ir::Node& node) {
  return repeated_function(
      node, [](float x, float alpha) { return x > 0 ? x : alpha * x; }, true);
}
KernelOffer reference_prelu_input_grad(const ir::Node& node) {
  return repeated_function(
      node, [](float x, float alpha, float dy) { return x > 0 ? dy : alpha * dy; }, true);
}
KernelOffer reference_prelu_sums(const ir::Node& node) {
  const Shape& shape = node.input(1)->shape();
  const StridedPlaces alpha = repeated(node.output()->shape(), shape, true);
  const int64_t sample = shape.elements_from(1);
  const int64_t slopes = node.output()->shape().elements();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    auto* sums = reinterpret_cast<double*>(args.scratch);
    std::fill_n(sums, slopes, 0.0);
    for (int64_t i = 0; i < step.valid * sample; ++i) {
      const double x = args.in(1)[i];
      if (!(x > 0)) sums[alpha.place(i)] += x * static_cast<double>(args.in(0)[i]);
    }
    for (int64_t i = 0; i < slopes; ++i) args.out()[i] = static_cast<float>(sums[i]);
  };
  return offer_function("reference", run,
                        {.scratch_bytes = static_cast<size_t>(slopes) * sizeof(double)});
}

KernelOffer reference_expand(const ir::Node& node) {
  const Shape& shape = node.output()->shape();
  const StridedPlaces x = repeated(node.input(0)->shape(), shape);
  const int64_t count = shape.elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = args.in(0)[x.place(i)];
  });
}

}  // namespace pando::kernels
