// DirectConv as a candidate for the convolution ops.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

KernelOffer direct_conv(const ir::Node& node);
KernelOffer direct_conv_input_grad(const ir::Node& node);
KernelOffer direct_conv_filter_grad(const ir::Node& node);
KernelOffer direct_conv_pool(const ir::Node& node);

}  // namespace pando::kernels
