// When oneDNN's products of 16-bit numbers are taken: where the processor has instructions for
// them. Their sums are f32, and who calls rounds them. SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "pando/ir/graph.h"

namespace pando::kernels {

// Why numbers of this type cannot be multiplied as they are; empty when they can.
std::string why_not_native(DType dtype);

// Why the candidate "native" should not be taken for a node with 16-bit operands: a convolution, a
// dense layer or the gradient of its input; or the gradient of its kernel.
std::string why_not_native_product(const ir::Node& node);
std::string why_not_native_kernel_grad(const ir::Node& node);

}  // namespace pando::kernels
