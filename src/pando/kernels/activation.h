// The activations that kernels can apply while a result is still in registers or in the cache. The
// loops: direct/isa_body.inc, fast/activation_loops.cc, fast/channel_rows.cc,
// fast/vector_activation.h, onednn/post_ops.cc.
//
// SPDX-License-Identifier: MIT
#pragma once

namespace pando::kernels {

enum class Activation { none, relu, leaky_relu, relu6, hard_swish, swish };

}  // namespace pando::kernels
