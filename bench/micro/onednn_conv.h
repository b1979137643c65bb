// One pass of a convolution by oneDNN in its own blocked layouts, for comparison.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "pando/kernels/conv_geometry.h"

namespace pando::bench {

enum class Pass { forward, backward_input, backward_kernel };

struct OneDnnPass {
  std::function<void()> run;
  std::string implementation;  // "jit:avx2"
};

OneDnnPass onednn_pass(const kernels::ConvGeometry& geometry, Pass pass);

}  // namespace pando::bench
