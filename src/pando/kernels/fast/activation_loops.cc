// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/activation_loops.h"

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/vector_math.h"

namespace pando::kernels::fast {

namespace {

PANDO_MULTIVERSION void relu_in_place(float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = y[i] < 0 ? 0 : y[i];
}

PANDO_MULTIVERSION void leaky_relu_in_place(float* y, int64_t count, float alpha) {
  for (int64_t i = 0; i < count; ++i) y[i] = y[i] < 0 ? y[i] * alpha : y[i];
}

PANDO_MULTIVERSION void relu6_in_place(float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float floored = y[i] < 0 ? 0 : y[i];
    y[i] = floored > 6 ? 6 : floored;
  }
}

PANDO_MULTIVERSION void elu_in_place(float* y, int64_t count, float alpha) {
  for (int64_t i = 0; i < count; ++i) y[i] = vector_elu(y[i], alpha);
}

// A multiversioned function cannot be a template.
#define PANDO_CURVE_IN_PLACE(curve)                                   \
  PANDO_MULTIVERSION void curve##_in_place(float* y, int64_t count) { \
    for (int64_t i = 0; i < count; ++i) y[i] = vector_##curve(y[i]);  \
  }
PANDO_CURVE_IN_PLACE(hard_swish)
PANDO_CURVE_IN_PLACE(swish)
PANDO_CURVE_IN_PLACE(gelu)
PANDO_CURVE_IN_PLACE(near_gelu)
PANDO_CURVE_IN_PLACE(sigmoid)
PANDO_CURVE_IN_PLACE(tanh)
PANDO_CURVE_IN_PLACE(selu)
PANDO_CURVE_IN_PLACE(softplus)
PANDO_CURVE_IN_PLACE(mish)
#undef PANDO_CURVE_IN_PLACE

}  // namespace

void activate(const NodeActivation& activation, float* y, int64_t count) {
  switch (activation.kind) {
    case Activation::none: return;
    case Activation::relu: return relu_in_place(y, count);
    case Activation::leaky_relu: return leaky_relu_in_place(y, count, activation.alpha);
    case Activation::relu6: return relu6_in_place(y, count);
    case Activation::hard_swish: return hard_swish_in_place(y, count);
    case Activation::swish: return swish_in_place(y, count);
    case Activation::gelu: return gelu_in_place(y, count);
    case Activation::near_gelu: return near_gelu_in_place(y, count);
    case Activation::sigmoid: return sigmoid_in_place(y, count);
    case Activation::tanh: return tanh_in_place(y, count);
    case Activation::elu: return elu_in_place(y, count, activation.alpha);
    case Activation::selu: return selu_in_place(y, count);
    case Activation::softplus: return softplus_in_place(y, count);
    case Activation::mish: return mish_in_place(y, count);
  }
}

}  // namespace pando::kernels::fast
