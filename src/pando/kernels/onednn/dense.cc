// oneDNN's inner products: y [N,M] = x [N,K] weights [K,M] and their gradients.
// SPDX-License-Identifier: MIT
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/onednn/onednn.h"
#include "pando/kernels/onednn/post_ops_impl.h"
#include "pando/kernels/onednn/primitive_impl.h"

namespace pando::kernels {
namespace {

using dnnl::memory;
using onednn::Argument;
using onednn::Primitive;

constexpr auto kF32 = memory::data_type::f32;
constexpr auto kAny = memory::format_tag::any;

struct Description {
  Description(const Shape& x, const Shape& y, const onednn::ProductTypes& types)
      : source({x.front(), x.back()}, types.source, memory::format_tag::ab),
        result({y.front(), y.back()}, types.result, memory::format_tag::ab),
        any_kernel({y.back(), x.back()}, types.kernel, kAny),
        plain_kernel({y.back(), x.back()}, types.kernel, memory::format_tag::ba),
        units(y.back()) {}

  memory::desc source;
  memory::desc result;
  memory::desc any_kernel;
  memory::desc plain_kernel;
  int64_t units;

  memory::desc bias(bool present) const {
    if (!present) return {};
    return {{units}, kF32, memory::format_tag::a};
  }
};

dnnl::inner_product_forward::primitive_desc forward_desc(const Description& d, bool bias,
                                                         dnnl::prop_kind kind,
                                                         const dnnl::primitive_attr& attributes) {
  const dnnl::inner_product_forward::desc desc(kind, d.source, d.any_kernel, d.bias(bias),
                                               d.result);
  return {desc, attributes, onednn::cpu_engine()};
}

// oneDNN needs a forward descriptor as a hint to create a gradient.
dnnl::inner_product_forward::primitive_desc hint_desc(const Shape& x, const Shape& y,
                                                      const onednn::ProductTypes& types,
                                                      bool bias) {
  return forward_desc(Description(x, y, types.of_forward()), bias,
                      dnnl::prop_kind::forward_training, onednn::primitive_attributes());
}

KernelOffer offer_dense(const ir::Node& node) {
  const Description d(node.input(0)->shape(), node.output()->shape(), onednn::product_types(node));
  const bool bias = node.num_inputs() > 2;
  const auto pd =
      forward_desc(d, bias, dnnl::prop_kind::forward_inference, onednn::fused_attributes(node));
  if (onednn::is_reference(pd.impl_info_str())) return onednn::refuse_reference(pd.impl_info_str());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, pd.src_desc()},
                                  {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                  {DNNL_ARG_DST, pd.dst_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, pd.bias_desc()});
  const auto primitive = std::make_shared<const Primitive>(dnnl::inner_product_forward(pd),
                                                           arguments, pd.scratchpad_desc());
  const auto run = [=](const KernelArgs& args, const StepArgs&) {
    const void* addresses[] = {args.inputs[0], args.inputs[1], args.outputs[0],
                               bias ? args.inputs[2] : nullptr};
    primitive->run(addresses, args.scratch);
  };
  KernelOffer offer = offer_function(onednn::kernel_name(pd.impl_info_str()), run,
                                     {.scratch_bytes = primitive->scratch_bytes()});
  offer.packings = onednn::packings(1, d.plain_kernel, pd.weights_desc());
  return offer;
}

KernelOffer offer_input_grad(const ir::Node& node) {
  const onednn::ProductTypes types = onednn::product_types(node);
  const Shape& x = node.output()->shape();
  const Shape& y = node.input(0)->shape();
  const Description d(x, y, types);
  const auto hint = hint_desc(x, y, types, false);
  const dnnl::inner_product_backward_data::desc desc(d.source, d.any_kernel, d.result);
  const dnnl::inner_product_backward_data::primitive_desc pd(desc, onednn::primitive_attributes(),
                                                             onednn::cpu_engine(), hint);
  if (onednn::is_reference(pd.impl_info_str())) return onednn::refuse_reference(pd.impl_info_str());
  const auto primitive = std::make_shared<const Primitive>(
      dnnl::inner_product_backward_data(pd),
      std::vector<Argument>{{DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                            {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                            {DNNL_ARG_DIFF_SRC, pd.diff_src_desc()}},
      pd.scratchpad_desc());
  const auto run = [=](const KernelArgs& args, const StepArgs&) {
    const void* addresses[] = {args.inputs[0], args.inputs[1], args.outputs[0]};
    primitive->run(addresses, args.scratch);
  };
  KernelOffer offer = offer_function(onednn::kernel_name(pd.impl_info_str()), run,
                                     {.scratch_bytes = primitive->scratch_bytes()});
  offer.packings = onednn::packings(1, d.plain_kernel, pd.weights_desc());
  return offer;
}

KernelOffer offer_kernel_grad(const ir::Node& node) {
  const onednn::ProductTypes types = onednn::product_types(node);
  const Shape& x = node.input(0)->shape();
  const Shape& y = node.input(1)->shape();
  const Description d(x, y, types);
  const bool bias = node.num_outputs() > 1;
  const auto hint = hint_desc(x, y, types, bias);
  const dnnl::inner_product_backward_weights::desc desc(d.source, d.any_kernel, d.bias(bias),
                                                        d.result);
  const dnnl::inner_product_backward_weights::primitive_desc pd(
      desc, onednn::primitive_attributes(), onednn::cpu_engine(), hint);
  if (onednn::is_reference(pd.impl_info_str())) return onednn::refuse_reference(pd.impl_info_str());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, pd.src_desc()},
                                  {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                                  {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc()});
  const auto primitive = std::make_shared<const Primitive>(dnnl::inner_product_backward_weights(pd),
                                                           arguments, pd.scratchpad_desc());
  const auto reorder = pd.diff_weights_desc() == d.plain_kernel
                           ? nullptr
                           : onednn::make_reorder(pd.diff_weights_desc(), d.plain_kernel);
  return onednn::offer_gradient(
      onednn::kernel_name(pd.impl_info_str()), primitive, reorder,
      {.bias = bias, .gradient_bytes = pd.diff_weights_desc().get_size()});
}

}  // namespace

KernelOffer onednn_dense(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_dense(node); });
}

KernelOffer onednn_dense_input_grad(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_input_grad(node); });
}

KernelOffer onednn_dense_kernel_grad(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_kernel_grad(node); });
}

}  // namespace pando::kernels
