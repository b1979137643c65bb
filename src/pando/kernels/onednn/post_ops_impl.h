// What the oneDNN adapters share beyond one primitive: types, fused activations, refusals.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/onednn/primitive_impl.h"

namespace pando::kernels::onednn {

// The types of the input, weights and result of a convolution or dense layer, or of their
// gradients.
struct ProductTypes {
  dnnl::memory::data_type source;
  dnnl::memory::data_type filter;
  dnnl::memory::data_type result;

  // The types of the forward node with an f32 result.
  ProductTypes of_forward() const;
};
ProductTypes product_types(const ir::Node& node);

// The residual is the first post-op, the activation the last.
constexpr int kResidualArgument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

// The activation of a node as a post-op, after the addition of a residual if the node has one.
dnnl::primitive_attr fused_attributes(const ir::Node& node,
                                      const dnnl::memory::desc& residual = {});

KernelOffer refuse_reference(const char* implementation);

// Turns an error that oneDNN throws while it looks for a kernel into a refusal.
template <typename Offer>
KernelOffer refuse_errors(const Offer& make_offer) {
  use_one_thread();
  try {
    return make_offer();
  } catch (const dnnl::error& error) {
    return refuse(std::string("oneDNN: ") + error.what());
  }
}

}  // namespace pando::kernels::onednn
