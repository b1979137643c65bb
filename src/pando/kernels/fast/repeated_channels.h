// Depthwise convolutions that make several channels of each: the same as a depthwise convolution of
// an input whose channels are repeated, for which there are fast kernels. The filter [taps, 1,
// channels * times] is that of both.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/conv_geometry.h"
#include "pando/kernels/kernel.h"

namespace pando::kernels::fast {

// How many channels are made of each; 1 for all other convolutions.
int64_t channel_multiplier(const ConvGeometry& geometry);

// Offers for nodes conv, conv_input_grad and conv_filter_grad whose channel_multiplier() is more
// than 1. `offer` offers a kernel for the same node of repeated channels.
using OfferNode = KernelOffer (*)(const ir::Node& node);
KernelOffer offer_repeated_conv(const ir::Node& node, OfferNode offer);
KernelOffer offer_repeated_input_grad(const ir::Node& node, OfferNode offer);
KernelOffer offer_repeated_filter_grad(const ir::Node& node, OfferNode offer);

}  // namespace pando::kernels::fast
