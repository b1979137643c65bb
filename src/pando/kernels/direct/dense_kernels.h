// DirectDense as a candidate for dense layers and their gradients.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

KernelOffer direct_dense(const ir::Node& node);
KernelOffer direct_dense_input_grad(const ir::Node& node);
KernelOffer direct_dense_filter_grad(const ir::Node& node);

}  // namespace pando::kernels
