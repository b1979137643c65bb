// Reference kernels: plain loops that say what each op means. They judge all the others.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

KernelOffer reference_relu(const ir::Node& node);
KernelOffer reference_relu_grad(const ir::Node& node);

}  // namespace pando::kernels
