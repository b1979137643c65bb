// oneDNN's convolutions of channels-last activations, in the types of the node's values. Filters
// are packed into the layout that the library prefers. Filter gradients are written in the plain
// layout, through scratch memory if necessary.
// SPDX-License-Identifier: MIT
#include "pando/kernels/conv_node.h"
#include "pando/kernels/fast/finish_pixels.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/onednn/onednn.h"
#include "pando/kernels/onednn/product_impl.h"

namespace pando::kernels {
namespace {

using dnnl::memory;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// A geometry as oneDNN descriptors. 2-D geometries drop their depth of 1.
struct ConvDescription {
  explicit ConvDescription(const ir::Node& node)
      : g(conv_geometry(node)),
        types(onednn::product_types(node)),
        first(node.input(0)->shape().rank() == 4 ? 1 : 0) {}

  ConvGeometry g;
  onednn::ProductTypes types;
  size_t first;  // axis of the geometry that is the first spatial one

  memory::dims spatial(const ConvGeometry::Extents& extents, int64_t less = 0) const {
    memory::dims dims;
    for (size_t axis = first; axis < 3; ++axis) dims.push_back(extents[axis] - less);
    return dims;
  }
  memory::dims with_spatial(memory::dims dims, const ConvGeometry::Extents& extents) const {
    for (const int64_t extent : spatial(extents)) dims.push_back(extent);
    return dims;
  }
  memory::format_tag activations() const {
    return first == 1 ? memory::format_tag::nhwc : memory::format_tag::ndhwc;
  }
  memory::desc source() const {
    return {with_spatial({g.batch, g.in_channels}, g.in), types.source, activations()};
  }
  memory::desc result() const {
    return {with_spatial({g.batch, g.out_channels}, g.out), types.result, activations()};
  }
  memory::desc bias(bool present) const {
    if (!present) return {};
    return {{g.out_channels}, memory::data_type::f32, memory::format_tag::a};
  }
  memory::dims filter_dims() const {
    memory::dims dims{g.out_channels / g.groups, g.in_channels / g.groups};
    if (g.groups > 1) dims.insert(dims.begin(), g.groups);
    return with_spatial(dims, g.filter);
  }
  memory::desc any_filter() const { return {filter_dims(), types.filter, memory::format_tag::any}; }
  // Pando's layout: [spatial..., in, out], with the output channels of a group side by side.
  memory::desc plain_filter() const {
    const memory::dims dims = filter_dims();
    memory::dims strides(dims.size());
    const size_t out = g.groups > 1 ? 1 : 0;
    strides[0] = g.groups > 1 ? dims[1] : 1;
    strides[out] = 1;
    strides[out + 1] = g.out_channels;
    int64_t stride = g.out_channels * dims[out + 1];
    for (size_t axis = dims.size(); axis-- > out + 2;) {
      strides[axis] = stride;
      stride *= dims[axis];
    }
    return {dims, types.filter, strides};
  }
};

dnnl::convolution_forward::primitive_desc conv_desc(const ConvDescription& d, bool bias,
                                                    dnnl::prop_kind kind,
                                                    const dnnl::primitive_attr& attributes) {
  const dnnl::convolution_forward::desc desc(
      kind, kDirect, d.source(), d.any_filter(), d.bias(bias), d.result(), d.spatial(d.g.stride),
      d.spatial(d.g.dilation, 1), d.spatial(d.g.pad_low), d.spatial(d.g.pad_high));
  return {desc, attributes, onednn::cpu_engine()};
}

// oneDNN needs a forward descriptor as a hint to create a gradient.
dnnl::convolution_forward::primitive_desc conv_hint(ConvDescription d, bool bias) {
  d.types = d.types.of_forward();
  return conv_desc(d, bias, dnnl::prop_kind::forward_training, onednn::primitive_attributes());
}

// Whether an implementation copies every window.
bool is_gemm(std::string_view implementation) {
  return implementation.find("gemm") != std::string_view::npos;
}

KernelOffer offer_conv(const ir::Node& node) {
  const ConvDescription d(node);
  onednn::ProductOperands operands{.bias = node.num_inputs() > 2};
  if (node.num_inputs() > 3) {
    operands.residual = {d.result().dims(), onednn::data_type(node.input(3)->type().dtype),
                         d.activations()};
  }
  const auto pd = conv_desc(d, operands.bias, dnnl::prop_kind::forward_inference,
                            onednn::fused_attributes(node, operands.residual));
  if (node.num_inputs() > 3 && is_gemm(pd.impl_info_str())) {
    return refuse("oneDNN's convolution by copies of windows adds the residual of wrong elements");
  }
  return onednn::offer_forward<dnnl::convolution_forward>(pd, operands, d.plain_filter());
}

KernelOffer offer_conv_input_grad(const ir::Node& node) {
  const ConvDescription d(node);
  const auto hint = conv_hint(d, false);
  const dnnl::convolution_backward_data::desc desc(
      kDirect, d.source(), d.any_filter(), d.result(), d.spatial(d.g.stride),
      d.spatial(d.g.dilation, 1), d.spatial(d.g.pad_low), d.spatial(d.g.pad_high));
  const dnnl::convolution_backward_data::primitive_desc pd(desc, onednn::primitive_attributes(),
                                                           onednn::cpu_engine(), hint);
  return onednn::offer_input_gradient<dnnl::convolution_backward_data>(pd, d.plain_filter());
}

// The input gradient, then bias and activation. oneDNN's deconvolution computes the same, but adds
// the bias one number at a time.
KernelOffer offer_conv_transpose(const ir::Node& node) {
  KernelOffer offer = offer_conv_input_grad(node);
  const NodeActivation activation = node_activation(node);
  const bool bias = node.num_inputs() > 2;
  if (offer.kernel == nullptr || (!bias && activation.kind == Activation::none)) return offer;
  const Shape& y = node.output()->shape();
  const auto run = [=, sums = offer.kernel, channels = y.back(), pixels = y.elements() / y.back()](
                       const KernelArgs& args, const StepArgs& step) {
    sums->run(args, step);
    fast::finish_pixels(args.out(), pixels, channels, bias ? args.in(2) : nullptr, activation);
  };
  const FunctionTraits traits{.scratch_bytes = offer.kernel->scratch_bytes()};
  offer.kernel = std::make_shared<FunctionKernel>(offer.kernel->name(), run, traits);
  return offer;
}

using FilterGradDesc = dnnl::convolution_backward_weights::primitive_desc;

FilterGradDesc filter_grad_desc(const ConvDescription& d, bool bias, const memory::desc& filter) {
  const auto hint = conv_hint(d, bias);
  const dnnl::convolution_backward_weights::desc desc(
      kDirect, d.source(), filter, d.bias(bias), d.result(), d.spatial(d.g.stride),
      d.spatial(d.g.dilation, 1), d.spatial(d.g.pad_low), d.spatial(d.g.pad_high));
  return {desc, onednn::primitive_attributes(), onednn::cpu_engine(), hint};
}

// Writes the gradient in the plain layout if oneDNN has an optimised kernel for that, otherwise in
// the layout that oneDNN prefers.
FilterGradDesc choose_filter_grad(const ConvDescription& d, bool bias) {
  try {
    FilterGradDesc plain = filter_grad_desc(d, bias, d.plain_filter());
    const std::string name = plain.impl_info_str();
    if (!is_gemm(name) && !onednn::is_reference(name.c_str())) return plain;
  } catch (const dnnl::error&) {
  }
  return filter_grad_desc(d, bias, d.any_filter());
}

KernelOffer offer_conv_filter_grad(const ir::Node& node) {
  const ConvDescription d(node);
  const bool bias = node.num_outputs() > 1;
  return onednn::offer_filter_gradient<dnnl::convolution_backward_weights>(
      choose_filter_grad(d, bias), bias, d.plain_filter());
}

}  // namespace

KernelOffer onednn_conv(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_conv(node); });
}

KernelOffer onednn_conv_input_grad(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_conv_input_grad(node); });
}

KernelOffer onednn_conv_transpose(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_conv_transpose(node); });
}

KernelOffer onednn_conv_filter_grad(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_conv_filter_grad(node); });
}

}  // namespace pando::kernels
