// What the oneDNN adapters share beyond one primitive: types, fused activations, refusals, and
// gradients of kernels that pass through scratch memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/onednn/primitive_impl.h"

namespace pando::kernels::onednn {

// The types of a convolution or dense layer: of its input, kernel and result, or their gradients.
struct ProductTypes {
  dnnl::memory::data_type source;
  dnnl::memory::data_type kernel;
  dnnl::memory::data_type result;

  // Of the forward node, with an f32 result.
  ProductTypes of_forward() const;
};
ProductTypes product_types(const ir::Node& node);

// The activation of a node as a post-op.
dnnl::primitive_attr fused_attributes(const ir::Node& node);

KernelOffer refuse_reference(const char* implementation);

// An error of the library while it looks for a kernel is a refusal.
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
