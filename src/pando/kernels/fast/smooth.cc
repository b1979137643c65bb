// tanh and the logistic function with their gradients, element by element.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vector_math.h"

namespace pando::kernels {
namespace {

using fast::Range;

PANDO_MULTIVERSION void run_tanh(const float* x, float* y, Range r) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) y[i] = fast::vector_tanh(x[i]);
}

PANDO_MULTIVERSION void run_sigmoid(const float* x, float* y, Range r) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) y[i] = fast::vector_sigmoid(x[i]);
}

PANDO_MULTIVERSION void run_tanh_grad(const float* dy, const float* y, float* dx, Range r) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) dx[i] = dy[i] * (1.0f - y[i] * y[i]);
}

PANDO_MULTIVERSION void run_sigmoid_grad(const float* dy, const float* y, float* dx, Range r) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) dx[i] = dy[i] * (y[i] * (1.0f - y[i]));
}

using UnaryLoop = void (*)(const float*, float*, Range);
using BinaryLoop = void (*)(const float*, const float*, float*, Range);

KernelOffer offer_unary(const ir::Node& node, UnaryLoop loop) {
  const int64_t count = node.output()->shape().elements();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    loop(args.in(0), args.out(), fast::element_share(step.part, count));
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer offer_binary(const ir::Node& node, BinaryLoop loop) {
  const int64_t count = node.output()->shape().elements();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    loop(args.in(0), args.in(1), args.out(), fast::element_share(step.part, count));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace

KernelOffer fast_tanh(const ir::Node& node) { return offer_unary(node, run_tanh); }
KernelOffer fast_tanh_grad(const ir::Node& node) { return offer_binary(node, run_tanh_grad); }
KernelOffer fast_sigmoid(const ir::Node& node) { return offer_unary(node, run_sigmoid); }
KernelOffer fast_sigmoid_grad(const ir::Node& node) { return offer_binary(node, run_sigmoid_grad); }

}  // namespace pando::kernels
