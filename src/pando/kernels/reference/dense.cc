// SPDX-License-Identifier: MIT
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"
#include "pando/kernels/reference/reference.h"

namespace pando::kernels {

namespace {

// Elements that lie `step` apart.
struct Vector {
  const float* data;
  int64_t step;
};

double dot(Vector a, Vector b, int64_t count, double start = 0) {
  double sum = start;
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(a.data[i * a.step]) * static_cast<double>(b.data[i * b.step]);
  }
  return sum;
}

}  // namespace

KernelOffer reference_dense(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape()[0];
  const int64_t features = node.input(0)->shape()[1];
  const int64_t units = node.output()->shape()[1];
  const NodeActivation activation = node_activation(node);
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t m = 0; m < units; ++m) {
        const double bias = args.num_inputs > 2 ? args.in(2)[m] : 0;
        const double sum =
            dot({args.in(0) + n * features, 1}, {args.in(1) + m, units}, features, bias);
        args.out()[n * units + m] = activation(static_cast<float>(sum));
      }
    }
  });
}

KernelOffer reference_dense_input_grad(const ir::Node& node) {
  const int64_t batch = node.output()->shape()[0];
  const int64_t features = node.output()->shape()[1];
  const int64_t units = node.input(0)->shape()[1];
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t k = 0; k < features; ++k) {
        args.out()[n * features + k] = static_cast<float>(
            dot({args.in(0) + n * units, 1}, {args.in(1) + k * units, 1}, units));
      }
    }
  });
}

KernelOffer reference_dense_filter_grad(const ir::Node& node) {
  const int64_t batch = node.input(0)->shape()[0];
  const int64_t features = node.input(0)->shape()[1];
  const int64_t units = node.input(1)->shape()[1];
  const bool bias = node.num_outputs() == 2;
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t k = 0; k < features; ++k) {
      for (int64_t m = 0; m < units; ++m) {
        args.out(0)[k * units + m] =
            static_cast<float>(dot({args.in(0) + k, features}, {args.in(1) + m, units}, batch));
      }
    }
    if (!bias) return;
    const float one = 1;
    for (int64_t m = 0; m < units; ++m) {
      args.out(1)[m] = static_cast<float>(dot({args.in(1) + m, units}, {&one, 0}, batch));
    }
  });
}

}  // namespace pando::kernels
