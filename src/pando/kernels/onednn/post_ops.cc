// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"
#include "pando/kernels/onednn/post_ops_impl.h"
#include "pando/ops/conv_operands.h"

namespace pando::kernels::onednn {

ProductTypes ProductTypes::of_forward() const {
  const auto f32 = dnnl::memory::data_type::f32;
  const auto factor = source == f32 ? result : source;
  return {factor, factor, f32};
}

ProductTypes product_types(const ir::Node& node) {
  const auto first = data_type(node.input(0)->type().dtype);
  const auto second = data_type(node.input(1)->type().dtype);
  const auto made = data_type(node.output()->type().dtype);
  if (ops::is_input_grad(node)) return {made, second, first};
  if (node.op().ends_with("filter_grad")) return {first, made, second};
  return {first, second, made};
}

namespace {

void append_activation(const NodeActivation& activation, dnnl::post_ops& post_ops) {
  using dnnl::algorithm;
  const float alpha = activation.alpha;
  switch (activation.kind) {
    case Activation::none: return;
    case Activation::relu:
    case Activation::leaky_relu:
      return post_ops.append_eltwise(1, algorithm::eltwise_relu, alpha, 0);
    case Activation::relu6: return post_ops.append_eltwise(1, algorithm::eltwise_clip, 0, 6);
    case Activation::hard_swish:
      return post_ops.append_eltwise(1, algorithm::eltwise_hardswish, 0, 0);
    case Activation::swish: return post_ops.append_eltwise(1, algorithm::eltwise_swish, 1, 0);
    case Activation::gelu: return post_ops.append_eltwise(1, algorithm::eltwise_gelu_erf, 0, 0);
    case Activation::near_gelu:
      return post_ops.append_eltwise(1, algorithm::eltwise_gelu_tanh, 0, 0);
    case Activation::sigmoid: return post_ops.append_eltwise(1, algorithm::eltwise_logistic, 0, 0);
    case Activation::tanh: return post_ops.append_eltwise(1, algorithm::eltwise_tanh, 0, 0);
    case Activation::elu: return post_ops.append_eltwise(1, algorithm::eltwise_elu, alpha, 0);
    case Activation::selu:
      return post_ops.append_eltwise(static_cast<float>(kSeluScale), algorithm::eltwise_elu,
                                     static_cast<float>(kSeluAlpha), 0);
    case Activation::softplus:
      return post_ops.append_eltwise(1, algorithm::eltwise_soft_relu, 1, 0);
    case Activation::mish: return post_ops.append_eltwise(1, algorithm::eltwise_mish, 0, 0);
  }
}

}  // namespace

dnnl::primitive_attr fused_attributes(const ir::Node& node, const dnnl::memory::desc& residual) {
  dnnl::primitive_attr attributes = primitive_attributes();
  const NodeActivation activation = node_activation(node);
  dnnl::post_ops post_ops;
  if (node.num_inputs() > 3) post_ops.append_binary(dnnl::algorithm::binary_add, residual);
  append_activation(activation, post_ops);
  attributes.set_post_ops(post_ops);
  return attributes;
}

KernelOffer refuse_reference(const char* implementation) {
  return refuse(
      concat("oneDNN has only the reference kernel '", implementation, "' for this shape"));
}

}  // namespace pando::kernels::onednn
