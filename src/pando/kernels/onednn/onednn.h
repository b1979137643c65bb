// oneDNN's kernels as candidates. Only the sources of this folder include the library's headers.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

KernelOffer onednn_conv(const ir::Node& node);
KernelOffer onednn_conv_input_grad(const ir::Node& node);
KernelOffer onednn_conv_filter_grad(const ir::Node& node);
KernelOffer onednn_conv_transpose(const ir::Node& node);
KernelOffer onednn_dense(const ir::Node& node);
KernelOffer onednn_dense_input_grad(const ir::Node& node);
KernelOffer onednn_dense_filter_grad(const ir::Node& node);

}  // namespace pando::kernels
