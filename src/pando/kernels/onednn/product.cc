// SPDX-License-Identifier: MIT
#include <algorithm>

#include "pando/kernels/function_kernel.h"
#include "pando/kernels/onednn/product_impl.h"

namespace pando::kernels::onednn {

KernelOffer offer_product(std::string name, std::shared_ptr<const Primitive> primitive,
                          int inputs) {
  const size_t scratch_bytes = primitive->scratch_bytes();
  const auto run = [primitive = std::move(primitive), inputs](const KernelArgs& args,
                                                              const StepArgs&) {
    const void* addresses[] = {args.inputs[0], args.inputs[1], args.outputs[0],
                               inputs > 2 ? args.inputs[2] : nullptr,
                               inputs > 3 ? args.inputs[3] : nullptr};
    primitive->run(addresses, args.scratch);
  };
  return offer_function(std::move(name), run, {.scratch_bytes = scratch_bytes});
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
