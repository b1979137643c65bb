// Mean squared and mean absolute error of each sample, with gradients.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "pando/kernels/fast/class_rows.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

PANDO_MULTIVERSION float squared_sum(const float* a, const float* b, int64_t count) {
  return fast::sum_lanes(
      count, [=](int64_t i) __attribute__((always_inline)) {
        const float difference = a[i] - b[i];
        return difference * difference;
      });
}

PANDO_MULTIVERSION float absolute_sum(const float* a, const float* b, int64_t count) {
  return fast::sum_lanes(
      count, [=](int64_t i) __attribute__((always_inline)) { return std::abs(a[i] - b[i]); });
}

PANDO_MULTIVERSION void squared_grad(const float* a, const float* b, float factor, float* out,
                                     int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = 2.0f * factor * (a[i] - b[i]);
}

PANDO_MULTIVERSION void absolute_grad(const float* a, const float* b, float factor, float* out,
                                      int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const float difference = a[i] - b[i];
    const float down = difference < 0 ? -factor : 0.0f;
    out[i] = difference > 0 ? factor : down;
  }
}

using SumLoop = float (*)(const float*, const float*, int64_t);
using GradLoop = void (*)(const float*, const float*, float, float*, int64_t);

// Inputs: prediction, target, [weight].
KernelOffer offer_loss(const ir::Node& node, SumLoop sum) {
  const int64_t batch = node.input(0)->shape().front();
  const int64_t count = node.input(0)->shape().elements_from(1);
  const bool weighted = node.num_inputs() > 2;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range samples = fast::share(step.part, batch);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const float mean =
          sum(args.in(0) + n * count, args.in(1) + n * count, count) / static_cast<float>(count);
      args.out()[n] = weighted ? mean * args.in(2)[n] : mean;
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

// Inputs: dloss, prediction, target, [weight].
KernelOffer offer_grad(const ir::Node& node, GradLoop grad) {
  const int64_t batch = node.input(1)->shape().front();
  const int64_t count = node.input(1)->shape().elements_from(1);
  const bool weighted = node.num_inputs() > 3;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const fast::Range samples = fast::share(step.part, batch);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const float weight = weighted ? args.in(3)[n] : 1.0f;
      const float factor = args.in(0)[n] * weight / static_cast<float>(count);
      grad(args.in(1) + n * count, args.in(2) + n * count, factor, args.out() + n * count, count);
    }
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace

KernelOffer fast_mean_squared_error(const ir::Node& node) { return offer_loss(node, squared_sum); }
KernelOffer fast_mean_absolute_error(const ir::Node& node) {
  return offer_loss(node, absolute_sum);
}
KernelOffer fast_mean_squared_error_grad(const ir::Node& node) {
  return offer_grad(node, squared_grad);
}
KernelOffer fast_mean_absolute_error_grad(const ir::Node& node) {
  return offer_grad(node, absolute_grad);
}

}  // namespace pando::kernels
