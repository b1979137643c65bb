// oneDNN's convolutions of channels-last activations, in the types of the node's values. Filters
// are packed into the layout that the library prefers. Filter gradients are written in the plain
// layout, through scratch memory if necessary.
// SPDX-License-Identifier: MIT
#include "pando/kernels/conv_node.h"
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
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// A geometry as oneDNN descriptors. 2-D geometries drop their depth of 1.
struct Description {
  explicit Description(const ir::Node& node)
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
    return {{g.out_channels}, kF32, memory::format_tag::a};
  }
  memory::dims kernel_dims() const {
    memory::dims dims{g.out_channels / g.groups, g.in_channels / g.groups};
    if (g.groups > 1) dims.insert(dims.begin(), g.groups);
    return with_spatial(dims, g.kernel);
  }
  memory::desc any_kernel() const { return {kernel_dims(), types.kernel, kAny}; }
  // Pando's layout: [spatial..., in, out], with the output channels of a group side by side.
  memory::desc plain_kernel() const {
    const memory::dims dims = kernel_dims();
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
    return {dims, types.kernel, strides};
  }
};

dnnl::convolution_forward::primitive_desc forward_desc(const Description& d, bool bias,
                                                       dnnl::prop_kind kind,
                                                       const dnnl::primitive_attr& attributes) {
  const dnnl::convolution_forward::desc desc(
      kind, kDirect, d.source(), d.any_kernel(), d.bias(bias), d.result(), d.spatial(d.g.stride),
      d.spatial(d.g.dilation, 1), d.spatial(d.g.pad_low), d.spatial(d.g.pad_high));
  return {desc, attributes, onednn::cpu_engine()};
}

// oneDNN needs a forward descriptor as a hint to create a gradient.
dnnl::convolution_forward::primitive_desc hint_desc(Description d, bool bias) {
  d.types = d.types.of_forward();
  return forward_desc(d, bias, dnnl::prop_kind::forward_training, onednn::primitive_attributes());
}

KernelOffer offer_conv(const ir::Node& node) {
  const Description d(node);
  const bool bias = node.num_inputs() > 2;
  const auto pd =
      forward_desc(d, bias, dnnl::prop_kind::forward_inference, onednn::fused_attributes(node));
  if (onednn::is_reference(pd.impl_info_str())) return onednn::refuse_reference(pd.impl_info_str());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, pd.src_desc()},
                                  {DNNL_ARG_WEIGHTS, pd.weights_desc()},
                                  {DNNL_ARG_DST, pd.dst_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, pd.bias_desc()});
  const auto primitive = std::make_shared<const Primitive>(dnnl::convolution_forward(pd), arguments,
                                                           pd.scratchpad_desc());
  const auto run = [=](const KernelArgs& args, const StepArgs&) {
    const void* addresses[] = {args.inputs[0], args.inputs[1], args.outputs[0],
                               bias ? args.inputs[2] : nullptr};
    primitive->run(addresses, args.scratch);
  };
  KernelOffer offer = offer_function(onednn::kernel_name(pd.impl_info_str()), run,
                                     {.scratch_bytes = primitive->scratch_bytes()});
  offer.packings = onednn::packings(1, d.plain_kernel(), pd.weights_desc());
  return offer;
}

KernelOffer offer_input_grad(const ir::Node& node) {
  const Description d(node);
  const auto hint = hint_desc(d, false);
  const dnnl::convolution_backward_data::desc desc(
      kDirect, d.source(), d.any_kernel(), d.result(), d.spatial(d.g.stride),
      d.spatial(d.g.dilation, 1), d.spatial(d.g.pad_low), d.spatial(d.g.pad_high));
  const dnnl::convolution_backward_data::primitive_desc pd(desc, onednn::primitive_attributes(),
                                                           onednn::cpu_engine(), hint);
  if (onednn::is_reference(pd.impl_info_str())) return onednn::refuse_reference(pd.impl_info_str());
  const auto primitive = std::make_shared<const Primitive>(
      dnnl::convolution_backward_data(pd),
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
  offer.packings = onednn::packings(1, d.plain_kernel(), pd.weights_desc());
  return offer;
}

using KernelGradDesc = dnnl::convolution_backward_weights::primitive_desc;

KernelGradDesc kernel_grad_desc(const Description& d, bool bias, const memory::desc& kernel) {
  const auto hint = hint_desc(d, bias);
  const dnnl::convolution_backward_weights::desc desc(
      kDirect, d.source(), kernel, d.bias(bias), d.result(), d.spatial(d.g.stride),
      d.spatial(d.g.dilation, 1), d.spatial(d.g.pad_low), d.spatial(d.g.pad_high));
  return {desc, onednn::primitive_attributes(), onednn::cpu_engine(), hint};
}

// Writes the gradient in the plain layout if oneDNN has an optimised kernel for that, otherwise in
// the layout that oneDNN prefers.
KernelGradDesc choose_kernel_grad(const Description& d, bool bias) {
  try {
    KernelGradDesc plain = kernel_grad_desc(d, bias, d.plain_kernel());
    const std::string name = plain.impl_info_str();
    const bool slow = name.find("gemm") != std::string::npos;  // copies every window
    if (!slow && !onednn::is_reference(name.c_str())) return plain;
  } catch (const dnnl::error&) {
  }
  return kernel_grad_desc(d, bias, d.any_kernel());
}

KernelOffer offer_kernel_grad(const ir::Node& node) {
  const Description d(node);
  const bool bias = node.num_outputs() > 1;
  const KernelGradDesc pd = choose_kernel_grad(d, bias);
  if (onednn::is_reference(pd.impl_info_str())) return onednn::refuse_reference(pd.impl_info_str());
  std::vector<Argument> arguments{{DNNL_ARG_SRC, pd.src_desc()},
                                  {DNNL_ARG_DIFF_DST, pd.diff_dst_desc()},
                                  {DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc()});
  const auto primitive = std::make_shared<const Primitive>(dnnl::convolution_backward_weights(pd),
                                                           arguments, pd.scratchpad_desc());
  const auto reorder = pd.diff_weights_desc() == d.plain_kernel()
                           ? nullptr
                           : onednn::make_reorder(pd.diff_weights_desc(), d.plain_kernel());
  return onednn::offer_gradient(
      onednn::kernel_name(pd.impl_info_str()), primitive, reorder,
      {.bias = bias, .gradient_bytes = pd.diff_weights_desc().get_size()});
}

}  // namespace

KernelOffer onednn_conv(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_conv(node); });
}

KernelOffer onednn_conv_input_grad(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_input_grad(node); });
}

KernelOffer onednn_conv_kernel_grad(const ir::Node& node) {
  return onednn::refuse_errors([&] { return offer_kernel_grad(node); });
}

}  // namespace pando::kernels
