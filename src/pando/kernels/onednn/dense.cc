// oneDNN's inner products: y [N,M] = x [N,K] weights [K,M] and their gradients.
// SPDX-License-Identifier: MIT
#include "pando/kernels/onednn/onednn.h"
#include "pando/kernels/onednn/product_impl.h"

namespace pando::kernels {
namespace {

using dnnl::memory;

struct DenseDescription {
  DenseDescription(const Shape& x, const Shape& y, const onednn::ProductTypes& types)
      : source({x.front(), x.back()}, types.source, memory::format_tag::ab),
        result({y.front(), y.back()}, types.result, memory::format_tag::ab),
        any_filter({y.back(), x.back()}, types.filter, memory::format_tag::any),
        plain_filter({y.back(), x.back()}, types.filter, memory::format_tag::ba),
        units(y.back()) {}

  memory::desc source;
  memory::desc result;
  memory::desc any_filter;
  memory::desc plain_filter;
  int64_t units;

  memory::desc bias(bool present) const {
    if (!present) return {};
    return {{units}, memory::data_type::f32, memory::format_tag::a};
  }
};

dnnl::inner_product_forward::primitive_desc dense_desc(const DenseDescription& d, bool bias,
                                                       dnnl::prop_kind kind,
                                                       const dnnl::primitive_attr& attributes) {
  const dnnl::inner_product_forward::desc desc(kind, d.source, d.any_filter, d.bias(bias),
                                               d.result);
  return {desc, attributes, onednn::cpu_engine()};
}

// oneDNN needs a forward descriptor as a hint to create a gradient.
dnnl::inner_product_forward::primitive_desc dense_hint(const Shape& x, const Shape& y,
                                                       const onednn::ProductTypes& types,
                                                       bool bias) {
  return dense_desc(DenseDescription(x, y, types.of_forward()), bias,
                    dnnl::prop_kind::forward_training, onednn::primitive_attributes());
}

KernelOffer offer_dense(const ir::Node& node) {
  const DenseDescription d(node.input(0)->shape(), node.output()->shape(),
                           onednn::product_types(node));
  const auto pd = dense_desc(d, node.num_inputs() > 2, dnnl::prop_kind::forward_inference,
                             onednn::fused_attributes(node));
  return onednn::offer_forward<dnnl::inner_product_forward>(pd, {.bias = node.num_inputs() > 2},
                                                            d.plain_filter);
}

KernelOffer offer_dense_input_grad(const ir::Node& node) {
  const onednn::ProductTypes types = onednn::product_types(node);
  const Shape& x = node.output()->shape();
  const Shape& y = node.input(0)->shape();
  const DenseDescription d(x, y, types);
  const auto hint = dense_hint(x, y, types, false);
  const dnnl::inner_product_backward_data::desc desc(d.source, d.any_filter, d.result);
  const dnnl::inner_product_backward_data::primitive_desc pd(desc, onednn::primitive_attributes(),
                                                             onednn::cpu_engine(), hint);
  return onednn::offer_input_gradient<dnnl::inner_product_backward_data>(pd, d.plain_filter);
}

KernelOffer offer_dense_filter_grad(const ir::Node& node) {
  const onednn::ProductTypes types = onednn::product_types(node);
  const Shape& x = node.input(0)->shape();
  const Shape& y = node.input(1)->shape();
  const DenseDescription d(x, y, types);
  const bool bias = node.num_outputs() > 1;
  const auto hint = dense_hint(x, y, types, bias);
  const dnnl::inner_product_backward_weights::desc desc(d.source, d.any_filter, d.bias(bias),
                                                        d.result);
  const dnnl::inner_product_backward_weights::primitive_desc pd(
      desc, onednn::primitive_attributes(), onednn::cpu_engine(), hint);
  return onednn::offer_filter_gradient<dnnl::inner_product_backward_weights>(pd, bias,
                                                                             d.plain_filter);
}

}  // namespace

KernelOffer onednn_dense(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_dense(node); });
}

KernelOffer onednn_dense_input_grad(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_dense_input_grad(node); });
}

KernelOffer onednn_dense_filter_grad(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_dense_filter_grad(node); });
}

}  // namespace pando::kernels
