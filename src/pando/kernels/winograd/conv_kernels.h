// WinogradConv as candidates for 3x3 convolutions: with tiles of 2x2 outputs and with tiles of 4x4.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/kernel.h"

namespace pando::kernels {

KernelOffer winograd_conv(const ir::Node& node);
KernelOffer winograd_conv_input_grad(const ir::Node& node);
KernelOffer winograd_conv_filter_grad(const ir::Node& node);
KernelOffer winograd_conv_pool(const ir::Node& node);

KernelOffer winograd4_conv(const ir::Node& node);
KernelOffer winograd4_conv_input_grad(const ir::Node& node);
KernelOffer winograd4_conv_filter_grad(const ir::Node& node);

// The same wherever Winograd's method can compute the node, faster or not.
KernelOffer any_winograd_conv(const ir::Node& node);
KernelOffer any_winograd_conv_input_grad(const ir::Node& node);
KernelOffer any_winograd_conv_filter_grad(const ir::Node& node);
KernelOffer any_winograd_conv_pool(const ir::Node& node);

KernelOffer any_winograd4_conv(const ir::Node& node);
KernelOffer any_winograd4_conv_input_grad(const ir::Node& node);
KernelOffer any_winograd4_conv_filter_grad(const ir::Node& node);

// How many times fewer multiplications than a direct sum the candidate `winograd4` needs for a
// convolution or one of its gradients; 0 if it refuses the node.
double saved_by_winograd4(const ir::Node& node);

}  // namespace pando::kernels
