// Offers the three products of a convolution or a dense layer. Both differ only in oneDNN's types,
// so one template makes each offer from the primitive descriptor of either.
// SPDX-License-Identifier: MIT
#pragma once

#include "pando/kernels/onednn/post_ops_impl.h"

namespace pando::kernels::onednn {

// The parts that do not depend on oneDNN's types. `plain` is Pando's layout of the filter.
// `inputs` counts x or dy, the filter, the bias and the residual, of which the last may be missing.
KernelOffer offer_product(std::string name, std::shared_ptr<const Primitive> primitive, int inputs);

struct GradientTraits {
  bool bias = false;
  size_t gradient_bytes = 0;  // in the layout of the primitive
};

// Offers the kernel (x, dy) -> filter gradient, [bias gradient]. With a reorder, the primitive
// writes to scratch memory and the reorder copies from there to the output.
KernelOffer offer_gradient(std::string name, std::shared_ptr<const Primitive> primitive,
                           std::shared_ptr<const Primitive> reorder, GradientTraits traits);

// What a product takes besides x and the filter.
struct ProductOperands {
  bool bias = false;
  dnnl::memory::desc residual = {};  // empty: none
};

// Offers (x, filter, [bias, [residual]]) -> y. Forward is oneDNN's class of primitives.
template <typename Forward>
KernelOffer offer_forward(const typename Forward::primitive_desc& pd,
                          const ProductOperands& operands, const dnnl::memory::desc& plain) {
  if (is_reference(pd.impl_info_str())) return refuse_reference(pd.impl_info_str());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, pd.src_desc()},
                                  {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                  {DNNL_ARG_DST, pd.dst_desc()}};
  if (operands.bias) arguments.push_back({DNNL_ARG_BIAS, pd.bias_desc()});
  const bool residual = !operands.residual.is_zero();
  if (residual) arguments.push_back({kResidualArgument, operands.residual});
  KernelOffer offer =
      offer_product(kernel_name(pd.impl_info_str()),
                    std::make_shared<const Primitive>(Forward(pd), arguments, pd.scratchpad_desc()),
                    2 + (operands.bias ? 1 : 0) + (residual ? 1 : 0));
  offer.packings = packings(1, plain, pd.weights_desc());
  return offer;
}

// Offers (dy, filter) -> dx.
template <typename Backward>
KernelOffer offer_input_gradient(const typename Backward::primitive_desc& pd,
                                 const dnnl::memory::desc& plain) {
  if (is_reference(pd.impl_info_str())) return refuse_reference(pd.impl_info_str());
  const std::vector<Argument> arguments{{DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                                        {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                        {DNNL_ARG_DIFF_SRC, pd.diff_src_desc()}};
  KernelOffer offer = offer_product(
      kernel_name(pd.impl_info_str()),
      std::make_shared<const Primitive>(Backward(pd), arguments, pd.scratchpad_desc()), 2);
  offer.packings = packings(1, plain, pd.weights_desc());
  return offer;
}

// Offers (x, dy) -> filter gradient, [bias gradient].
template <typename Backward>
KernelOffer offer_filter_gradient(const typename Backward::primitive_desc& pd, bool bias,
                                  const dnnl::memory::desc& plain) {
  if (is_reference(pd.impl_info_str())) return refuse_reference(pd.impl_info_str());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, pd.src_desc()},
                                  {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                                  {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc()});
  return offer_gradient(
      kernel_name(pd.impl_info_str()),
      std::make_shared<const Primitive>(Backward(pd), arguments, pd.scratchpad_desc()),
      pd.diff_weights_desc() == plain ? nullptr : make_reorder(pd.diff_weights_desc(), plain),
      {.bias = bias, .gradient_bytes = pd.diff_weights_desc().get_size()});
}

}  // namespace pando::kernels::onednn
