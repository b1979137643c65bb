// Element-wise ops whose function costs no more than a multiplication. Results may overwrite input
// 0, so the loops declare independent iterations, not independent pointers.
// SPDX-License-Identifier: MIT
#include "pando/base/multiversion.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/halves.h"
#include "pando/kernels/fast/support.h"

namespace pando::kernels {
namespace {

using fast::Range;

PANDO_MULTIVERSION void relu(const float* x, float* y, Range r) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) y[i] = x[i] < 0 ? 0 : x[i];
}

PANDO_MULTIVERSION void relu_grad(const float* dy, const float* y, float* dx, Range r) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) {
    const float d = dy[i];
    dx[i] = y[i] > 0 ? d : 0;
  }
}

// Halves need no conversion to be compared with 0. `infinity` has the bits of the largest magnitude
// that is a number.
PANDO_MULTIVERSION void relu_of_halves(const uint16_t* x, uint16_t* y, Range r, uint16_t infinity) {
  const auto numbers = static_cast<uint16_t>(infinity - 1);
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) {
    const auto above_minus_zero = static_cast<uint16_t>(x[i] - 0x8001);
    y[i] = above_minus_zero <= numbers ? uint16_t{0} : x[i];
  }
}

PANDO_MULTIVERSION void relu_grad_of_halves(const uint16_t* dy, const uint16_t* y, uint16_t* dx,
                                            Range r, uint16_t infinity) {
  const auto numbers = static_cast<uint16_t>(infinity - 1);
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) {
    const auto above_zero = static_cast<uint16_t>(y[i] - 1);
    const uint16_t d = dy[i];
    dx[i] = above_zero <= numbers ? d : uint16_t{0};
  }
}

uint16_t infinity_of(DType half) { return half == DType::bf16 ? 0x7f80 : 0x7c00; }

PANDO_MULTIVERSION void leaky_relu(const float* x, float* y, Range r, float alpha) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) y[i] = x[i] > 0 ? x[i] : x[i] * alpha;
}

PANDO_MULTIVERSION void leaky_relu_grad(const float* dy, const float* y, float* dx, Range r,
                                        float alpha) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) {
    const float d = dy[i];
    dx[i] = y[i] > 0 ? d : d * alpha;
  }
}

PANDO_MULTIVERSION void scale(const float* x, float* y, Range r, float factor, float offset) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) y[i] = x[i] * factor + offset;
}

float alpha_of(const ir::Node& node) {
  return static_cast<float>(ops::number_attribute(node, "alpha"));
}

// Offers a kernel that calls `loop(args, range)` for the 16-bit elements of its part. Its results
// need no rounding: they are zeros and elements of the inputs.
template <typename Loop>
KernelOffer offer_half_loop(const ir::Node& node, Loop loop) {
  for (const ir::Value* value : {node.input(node.num_inputs() - 1), node.output()}) {
    if (value->type().dtype != node.input(0)->type().dtype) {
      return refuse("supports operands of one type only");
    }
  }
  const int64_t count = node.output()->shape().elements();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    loop(args, fast::element_share(step.part, count));
  };
  return offer_function(fast::fast_name(node), run, fast::kSplits);
}

// Offers a kernel that calls `loop(args, range)` for the elements of its part.
template <typename Loop>
KernelOffer offer_loop(const ir::Node& node, Loop loop) {
  for (const ir::Value* input : node.inputs()) {
    if (input->type().dtype != DType::f32) return refuse("supports f32 only");
  }
  const int64_t count = node.output()->shape().elements();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    loop(args, fast::element_share(step.part, count));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace

KernelOffer fast_relu(const ir::Node& node) {
  if (const DType half = node.input(0)->type().dtype; half::is_half(half)) {
    return offer_half_loop(node, [infinity = infinity_of(half)](const KernelArgs& args, Range r) {
      relu_of_halves(args.in_as<uint16_t>(0), args.out_as<uint16_t>(0), r, infinity);
    });
  }
  return offer_loop(node, [](const KernelArgs& args, Range r) { relu(args.in(0), args.out(), r); });
}

KernelOffer fast_relu_grad(const ir::Node& node) {
  if (const DType half = node.input(0)->type().dtype; half::is_half(half)) {
    return offer_half_loop(node, [infinity = infinity_of(half)](const KernelArgs& args, Range r) {
      relu_grad_of_halves(args.in_as<uint16_t>(0), args.in_as<uint16_t>(1),
                          args.out_as<uint16_t>(0), r, infinity);
    });
  }
  return offer_loop(node, [](const KernelArgs& args, Range r) {
    relu_grad(args.in(0), args.in(1), args.out(), r);
  });
}

KernelOffer fast_leaky_relu(const ir::Node& node) {
  return offer_loop(node, [alpha = alpha_of(node)](const KernelArgs& args, Range r) {
    leaky_relu(args.in(0), args.out(), r, alpha);
  });
}

KernelOffer fast_leaky_relu_grad(const ir::Node& node) {
  return offer_loop(node, [alpha = alpha_of(node)](const KernelArgs& args, Range r) {
    leaky_relu_grad(args.in(0), args.in(1), args.out(), r, alpha);
  });
}

KernelOffer fast_scale(const ir::Node& node) {
  const auto factor = static_cast<float>(ops::number_attribute(node, "factor"));
  const auto offset = static_cast<float>(ops::number_attribute(node, "offset"));
  return offer_loop(node, [=](const KernelArgs& args, Range r) {
    scale(args.in(0), args.out(), r, factor, offset);
  });
}

}  // namespace pando::kernels
