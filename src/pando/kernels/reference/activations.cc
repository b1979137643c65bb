// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"
#include "pando/ops/attribute_values.h"

namespace pando::kernels {

namespace {

// out[i] = function(in0[i]).
template <typename Function>
KernelOffer unary(const ir::Node& node, Function function) {
  const int64_t count = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = function(args.in(0)[i]);
  });
}

// out[i] = function(in0[i], in1[i]).
template <typename Function>
KernelOffer binary(const ir::Node& node, Function function) {
  const int64_t count = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = function(args.in(0)[i], args.in(1)[i]);
  });
}

float alpha_of(const ir::Node& node) {
  return static_cast<float>(ops::number_attribute(node, "alpha"));
}

}  // namespace

KernelOffer reference_relu(const ir::Node& node) {
  return unary(node, [](float x) { return x < 0 ? 0 : x; });
}

KernelOffer reference_relu_grad(const ir::Node& node) {
  return binary(node, [](float dy, float y) { return y > 0 ? dy : 0; });
}

KernelOffer reference_leaky_relu(const ir::Node& node) {
  return unary(node, [alpha = alpha_of(node)](float x) { return x > 0 ? x : alpha * x; });
}

KernelOffer reference_leaky_relu_grad(const ir::Node& node) {
  return binary(node,
                [alpha = alpha_of(node)](float dy, float y) { return y > 0 ? dy : alpha * dy; });
}

KernelOffer reference_tanh(const ir::Node& node) {
  return unary(node, [](float x) { return std::tanh(x); });
}

KernelOffer reference_tanh_grad(const ir::Node& node) {
  return binary(node, [](float dy, float y) { return dy * (1 - y * y); });
}

KernelOffer reference_sigmoid(const ir::Node& node) {
  return unary(node, [](float x) { return static_cast<float>(exact_sigmoid(x)); });
}

KernelOffer reference_sigmoid_grad(const ir::Node& node) {
  return binary(node, [](float dy, float y) { return dy * y * (1 - y); });
}

KernelOffer reference_softmax(const ir::Node& node) {
  const int64_t width = node.output()->shape().back();
  const int64_t rows = node.output()->shape().elements() / std::max<int64_t>(width, 1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* x = args.in(0) + r * width;
      const float largest = *std::max_element(x, x + width);
      double sum = 0;
      for (int64_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(x[i] - largest));
      for (int64_t i = 0; i < width; ++i) {
        args.out()[r * width + i] =
            static_cast<float>(std::exp(static_cast<double>(x[i] - largest)) / sum);
      }
    }
  });
}

KernelOffer reference_softmax_grad(const ir::Node& node) {
  const int64_t width = node.output()->shape().back();
  const int64_t rows = node.output()->shape().elements() / std::max<int64_t>(width, 1);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t r = 0; r < rows; ++r) {
      const float* dy = args.in(0) + r * width;
      const float* y = args.in(1) + r * width;
      double sum = 0;
      for (int64_t i = 0; i < width; ++i) {
        sum += static_cast<double>(dy[i]) * static_cast<double>(y[i]);
      }
      for (int64_t i = 0; i < width; ++i) {
        args.out()[r * width + i] = y[i] * (dy[i] - static_cast<float>(sum));
      }
    }
  });
}

}  // namespace pando::kernels
