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

PANDO_MULTIVERSION void hard_swish_in_place(float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = vector_hard_swish(y[i]);
}

PANDO_MULTIVERSION void swish_in_place(float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = vector_swish(y[i]);
}

}  // namespace

void activate(const NodeActivation& activation, float* y, int64_t count) {
  switch (activation.kind) {
    case Activation::none: return;
    case Activation::relu: return relu_in_place(y, count);
    case Activation::leaky_relu: return leaky_relu_in_place(y, count, activation.alpha);
    case Activation::relu6: return relu6_in_place(y, count);
    case Activation::hard_swish: return hard_swish_in_place(y, count);
    case Activation::swish: return swish_in_place(y, count);
  }
}

}  // namespace pando::kernels::fast
