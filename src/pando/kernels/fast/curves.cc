// The activations of ops/curves.cc and their gradients, element by element.
// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/fast/vector_math.h"

namespace pando::kernels {
namespace {

using fast::Range;
using fast::vector_exp;
using fast::vector_sigmoid;

// Up to two constants of a curve.
struct CurveNumbers {
  float a = 0;
  float b = 0;
};

// A curve has static functions value(x, numbers) and slope(at, numbers).
struct Elu {
  PANDO_INLINE static float value(float x, CurveNumbers n) { return fast::vector_elu(x, n.a); }
  PANDO_INLINE static float slope(float y, CurveNumbers n) { return y > 0 ? 1.0f : y + n.a; }
};

struct Selu {
  PANDO_INLINE static float value(float x, CurveNumbers) { return fast::vector_selu(x); }
  PANDO_INLINE static float slope(float y, CurveNumbers) {
    return y > 0 ? fast::kVectorSeluScale : y + fast::kVectorSeluProduct;
  }
};

struct Gelu {
  PANDO_INLINE static float value(float x, CurveNumbers) { return fast::vector_gelu(x); }
  PANDO_INLINE static float slope(float x, CurveNumbers) {
    constexpr float kDensity = 0.398942280f;  // 1 / sqrt(2 pi)
    const float near = fast::clamped(x, 15.0f);
    return fast::vector_normal(x) + near * (kDensity * vector_exp(-0.5f * near * near));
  }
};

struct NearGelu {
  PANDO_INLINE static float value(float x, CurveNumbers) { return fast::vector_near_gelu(x); }
  PANDO_INLINE static float slope(float x, CurveNumbers) {
    constexpr float kFactor = fast::kNearGeluFactor;
    const float near = fast::clamped(x, 100.0f);
    const float s = fast::vector_near_normal(near);
    return s +
           near * (s * (1.0f - s)) * (kFactor * (1.0f + 3.0f * fast::kNearGeluCubic * near * near));
  }
};

struct Swish {
  PANDO_INLINE static float value(float x, CurveNumbers) { return fast::vector_swish(x); }
  PANDO_INLINE static float slope(float x, CurveNumbers) {
    const float near = fast::clamped(x, 200.0f);
    const float s = vector_sigmoid(near);
    return s + near * (s * (1.0f - s));
  }
};

struct HardSigmoid {
  PANDO_INLINE static float value(float x, CurveNumbers n) {
    const float y = n.a * x + n.b;
    const float floored = y < 0 ? 0.0f : y;
    return floored > 1 ? 1.0f : floored;
  }
  PANDO_INLINE static float slope(float y, CurveNumbers n) {
    const float above = y > 0 ? n.a : 0.0f;
    return y < 1 ? above : 0.0f;
  }
};

struct HardSwish {
  PANDO_INLINE static float value(float x, CurveNumbers) { return fast::vector_hard_swish(x); }
  PANDO_INLINE static float slope(float x, CurveNumbers) {
    const float inside = fast::clamped(x, 3.0f) / 3.0f + 0.5f;
    const float above = x >= 3 ? 1.0f : inside;
    return x <= -3 ? 0.0f : above;
  }
};

struct Softplus {
  PANDO_INLINE static float value(float x, CurveNumbers) { return fast::vector_softplus(x); }
  PANDO_INLINE static float slope(float x, CurveNumbers) { return vector_sigmoid(x); }
};

struct Mish {
  PANDO_INLINE static float value(float x, CurveNumbers) { return fast::vector_mish(x); }
  PANDO_INLINE static float slope(float x, CurveNumbers) {
    const float near = fast::clamped(x, 100.0f);
    const float e = vector_exp(-fast::magnitude_of(near));
    const float t = fast::vector_mish_gate(near, e);
    const float s = (near < 0 ? e : 1.0f) / (1.0f + e);
    return t + near * ((1.0f - t * t) * s);
  }
};

struct Clip {
  PANDO_INLINE static float value(float x, CurveNumbers n) {
    const float floored = x < n.a ? n.a : x;
    return floored > n.b ? n.b : floored;
  }
  PANDO_INLINE static float slope(float y, CurveNumbers n) {
    const float above = y > n.a ? 1.0f : 0.0f;
    return y < n.b ? above : 0.0f;
  }
};

template <typename Curve>
PANDO_INLINE void value_loop(const float* x, float* y, Range r, CurveNumbers n) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) y[i] = Curve::value(x[i], n);
}

template <typename Curve>
PANDO_INLINE void slope_loop(const float* dy, const float* at, float* dx, Range r, CurveNumbers n) {
#pragma GCC ivdep
  for (int64_t i = r.begin; i < r.end; ++i) dx[i] = dy[i] * Curve::slope(at[i], n);
}

// A multiversioned function cannot be a template, so each curve has its two functions.
#define PANDO_CURVE_LOOPS(Curve)                                                                  \
  PANDO_MULTIVERSION void values_of_##Curve(const float* x, float* y, Range r, CurveNumbers n) {  \
    value_loop<Curve>(x, y, r, n);                                                                \
  }                                                                                               \
  PANDO_MULTIVERSION void slopes_of_##Curve(const float* dy, const float* at, float* dx, Range r, \
                                            CurveNumbers n) {                                     \
    slope_loop<Curve>(dy, at, dx, r, n);                                                          \
  }
PANDO_CURVE_LOOPS(Elu)
PANDO_CURVE_LOOPS(Selu)
PANDO_CURVE_LOOPS(Gelu)
PANDO_CURVE_LOOPS(NearGelu)
PANDO_CURVE_LOOPS(Swish)
PANDO_CURVE_LOOPS(HardSigmoid)
PANDO_CURVE_LOOPS(HardSwish)
PANDO_CURVE_LOOPS(Softplus)
PANDO_CURVE_LOOPS(Mish)
PANDO_CURVE_LOOPS(Clip)
#undef PANDO_CURVE_LOOPS

using ValueLoop = void (*)(const float*, float*, Range, CurveNumbers);
using SlopeLoop = void (*)(const float*, const float*, float*, Range, CurveNumbers);

KernelOffer offer_values(const ir::Node& node, ValueLoop loop, CurveNumbers numbers = {}) {
  const int64_t count = node.output()->shape().elements();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    loop(args.in(0), args.out(), fast::element_share(step.part, count), numbers);
  };
  return offer_function("fast", run, fast::kSplits);
}

KernelOffer offer_slopes(const ir::Node& node, SlopeLoop loop, CurveNumbers numbers = {}) {
  const int64_t count = node.output()->shape().elements();
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    loop(args.in(0), args.in(1), args.out(), fast::element_share(step.part, count), numbers);
  };
  return offer_function("fast", run, fast::kSplits);
}

float number(const ir::Node& node, const char* name) {
  return static_cast<float>(ops::number_attribute(node, name));
}

bool is_approximate(const ir::Node& node) { return number(node, "approximate") != 0; }

constexpr CurveNumbers kSix = {.a = 0, .b = 6};

}  // namespace

KernelOffer fast_elu(const ir::Node& node) {
  return offer_values(node, values_of_Elu, {.a = number(node, "alpha")});
}
KernelOffer fast_elu_grad(const ir::Node& node) {
  return offer_slopes(node, slopes_of_Elu, {.a = number(node, "alpha")});
}
KernelOffer fast_selu(const ir::Node& node) { return offer_values(node, values_of_Selu); }
KernelOffer fast_selu_grad(const ir::Node& node) { return offer_slopes(node, slopes_of_Selu); }
KernelOffer fast_gelu(const ir::Node& node) {
  return offer_values(node, is_approximate(node) ? values_of_NearGelu : values_of_Gelu);
}
KernelOffer fast_gelu_grad(const ir::Node& node) {
  return offer_slopes(node, is_approximate(node) ? slopes_of_NearGelu : slopes_of_Gelu);
}
KernelOffer fast_swish(const ir::Node& node) { return offer_values(node, values_of_Swish); }
KernelOffer fast_swish_grad(const ir::Node& node) { return offer_slopes(node, slopes_of_Swish); }
KernelOffer fast_hard_sigmoid(const ir::Node& node) {
  return offer_values(node, values_of_HardSigmoid,
                      {.a = number(node, "alpha"), .b = number(node, "beta")});
}
KernelOffer fast_hard_sigmoid_grad(const ir::Node& node) {
  return offer_slopes(node, slopes_of_HardSigmoid, {.a = number(node, "alpha")});
}
KernelOffer fast_hard_swish(const ir::Node& node) {
  return offer_values(node, values_of_HardSwish);
}
KernelOffer fast_hard_swish_grad(const ir::Node& node) {
  return offer_slopes(node, slopes_of_HardSwish);
}
KernelOffer fast_softplus(const ir::Node& node) { return offer_values(node, values_of_Softplus); }
KernelOffer fast_softplus_grad(const ir::Node& node) {
  return offer_slopes(node, slopes_of_Softplus);
}
KernelOffer fast_mish(const ir::Node& node) { return offer_values(node, values_of_Mish); }
KernelOffer fast_mish_grad(const ir::Node& node) { return offer_slopes(node, slopes_of_Mish); }
KernelOffer fast_clip(const ir::Node& node) {
  return offer_values(node, values_of_Clip, {.a = number(node, "min"), .b = number(node, "max")});
}
KernelOffer fast_clip_grad(const ir::Node& node) {
  return offer_slopes(node, slopes_of_Clip, {.a = number(node, "min"), .b = number(node, "max")});
}
KernelOffer fast_relu6(const ir::Node& node) { return offer_values(node, values_of_Clip, kSix); }
KernelOffer fast_relu6_grad(const ir::Node& node) {
  return offer_slopes(node, slopes_of_Clip, kSix);
}

}  // namespace pando::kernels
