// Softmax over the last axis and its gradient.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/class_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vector_math.h"

namespace pando::kernels {
namespace {

using fast::Range;

PANDO_MULTIVERSION void softmax(const float* x, float* y, int64_t classes, Range rows) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const float* in = x + row * classes;
    float* out = y + row * classes;
    const float sum = fast::exponentials(in, fast::largest(in, classes), out, classes);
    const float inverse = 1.0f / sum;
#pragma GCC ivdep
    for (int64_t k = 0; k < classes; ++k) out[k] *= inverse;
  }
}

PANDO_MULTIVERSION void softmax_grad(const float* dy, const float* y, float* dx, int64_t classes,
                                     Range rows) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t at = row * classes;
    const float sum = fast::sum_lanes(
        classes, [&](int64_t k) __attribute__((always_inline)) { return dy[at + k] * y[at + k]; });
#pragma GCC ivdep
    for (int64_t k = 0; k < classes; ++k) dx[at + k] = (dy[at + k] - sum) * y[at + k];
  }
}

}  // namespace

KernelOffer fast_softmax(const ir::Node& node) {
  const int64_t classes = node.output()->shape().back();
  const int64_t rows = node.output()->shape().elements() / std::max<int64_t>(classes, 1);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    softmax(args.in(0), args.out(), classes, fast::share(step.part, rows));
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer fast_softmax_grad(const ir::Node& node) {
  const int64_t classes = node.output()->shape().back();
  const int64_t rows = node.output()->shape().elements() / std::max<int64_t>(classes, 1);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    softmax_grad(args.in(0), args.in(1), args.out(), classes, fast::share(step.part, rows));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
