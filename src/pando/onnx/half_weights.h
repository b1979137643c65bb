// Smaller files: weights of an ONNX model in 16 bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/onnx/proto.h"

namespace pando::onnx {

// Stores f32 initializers of two or more axes as f16, each with a Cast in front of its uses, so
// that readers compute in f32 as before. Biases and the numbers of normalisations stay, and so does
// a tensor with a number beyond the range of f16:
//   w (f32)  ->  w/f16 (f16), w = Cast(w/f16)
void halve_weights(ModelProto& model);

}  // namespace pando::onnx
