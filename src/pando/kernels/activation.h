// The activations that kernels can apply while a result is still in registers or in the cache. The
// loops: direct/isa_body.inc, fast/activation_loops.cc, fast/channel_rows.cc,
// fast/vector_activation.h, onednn/post_ops.cc. A curve needs those of activation_loops.cc only,
// and its place in post_ops.cc.
//
// SPDX-License-Identifier: MIT
#pragma once

namespace pando::kernels {

// Up to relu6 they are made of lines: a comparison or two compute them, so that they are applied to
// vectors in registers. The others are curves, which are applied to arrays.
enum class Activation {
  none,
  relu,
  leaky_relu,
  relu6,
  hard_swish,
  swish,
  gelu,
  near_gelu,  // by the formula with tanh
  sigmoid,
  tanh,
  elu,
  selu,
  softplus,
  mish
};

}  // namespace pando::kernels
