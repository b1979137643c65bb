// oneDNN's kernels as candidates. The library is seen by the sources of this folder only.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

KernelOffer onednn_conv(const ir::Node& node);
KernelOffer onednn_conv_input_grad(const ir::Node& node);
KernelOffer onednn_conv_kernel_grad(const ir::Node& node);
KernelOffer onednn_dense(const ir::Node& node);
KernelOffer onednn_dense_input_grad(const ir::Node& node);
KernelOffer onednn_dense_kernel_grad(const ir::Node& node);

}  // namespace pando::kernels
