// Functions that files spell out in several nodes, because their opset has no op for them.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/onnx/proto.h"

namespace pando::onnx {

// Replaces these by one node each:
//   x sigmoid(x)                                -> Swish, which ONNX does not have
//   x hard_sigmoid(x), x clip(x + 3, 0, 6) / 6  -> HardSwish
//   x (1 + erf(x / sqrt 2)) / 2                 -> Gelu
//   (x - mean) / sqrt(variance + e) * g + b     -> LayerNormalization over the last axis
// and drops nodes whose results nobody reads.
GraphProto with_named_functions(GraphProto graph, int64_t opset);

}  // namespace pando::onnx
