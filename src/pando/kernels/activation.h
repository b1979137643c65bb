// The activations that kernels can apply while a result is still in registers.
// SPDX-License-Identifier: MIT
#pragma once

namespace pando::kernels {

enum class Activation { none, relu, leaky_relu, relu6, hard_swish, swish };

}  // namespace pando::kernels
