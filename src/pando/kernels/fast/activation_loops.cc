// SPDX-License-Identifier: MIT
#include "pando/kernels/fast/activation_loops.h"

#include "pando/base/multiversion.h"

namespace pando::kernels::fast {

namespace {

PANDO_MULTIVERSION void relu_in_place(float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = y[i] < 0 ? 0 : y[i];
}

PANDO_MULTIVERSION void leaky_relu_in_place(float* y, int64_t count, float alpha) {
  for (int64_t i = 0; i < count; ++i) y[i] = y[i] < 0 ? y[i] * alpha : y[i];
}

}  // namespace

void activate(const NodeActivation& activation, float* y, int64_t count) {
  switch (activation.kind) {
    case Activation::none: return;
    case Activation::relu: return relu_in_place(y, count);
    case Activation::leaky_relu: return leaky_relu_in_place(y, count, activation.alpha);
  }
}

}  // namespace pando::kernels::fast
