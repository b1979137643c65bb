// SPDX-License-Identifier: MIT
#include "pando/base/strings.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"
#include "pando/kernels/onednn/post_ops_impl.h"

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
  if (node.op().ends_with("input_grad")) return {made, second, first};
  if (node.op().ends_with("kernel_grad")) return {first, made, second};
  return {first, second, made};
}

dnnl::primitive_attr fused_attributes(const ir::Node& node) {
  dnnl::primitive_attr attributes = primitive_attributes();
  const NodeActivation activation = node_activation(node);
  if (activation.kind == Activation::none) return attributes;
  dnnl::post_ops post_ops;
  post_ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, activation.alpha, 0.0f);
  attributes.set_post_ops(post_ops);
  return attributes;
}

KernelOffer refuse_reference(const char* implementation) {
  return refuse(
      concat("oneDNN has only the reference kernel '", implementation, "' for this shape"));
}

KernelOffer offer_gradient(std::string name, std::shared_ptr<const Primitive> primitive,
                           std::shared_ptr<const Primitive> reorder, GradientTraits traits) {
  const auto rounded = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
  // Scratch holds the gradient in the primitive's layout, then the primitives' own scratch memory.
  const size_t staged = reorder == nullptr ? 0 : rounded(traits.gradient_bytes);
  const size_t work = std::max(primitive->scratch_bytes(),
                               reorder == nullptr ? size_t{0} : reorder->scratch_bytes());
  const auto run = [=](const KernelArgs& args, const StepArgs&) {
    std::byte* gradient = reorder == nullptr ? args.outputs[0] : args.scratch;
    const void* addresses[] = {args.inputs[0], args.inputs[1], gradient,
                               traits.bias ? args.outputs[1] : nullptr};
    primitive->run(addresses, args.scratch + staged);
    if (reorder == nullptr) return;
    const void* copied[] = {gradient, args.outputs[0]};
    reorder->run(copied, args.scratch + staged);
  };
  return offer_function(std::move(name), run, {.scratch_bytes = staged + work});
}

}  // namespace pando::kernels::onednn
