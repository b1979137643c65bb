// SPDX-License-Identifier: MIT
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/reference/reference.h"

namespace pando::kernels {

KernelOffer reference_relu(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = args.in(0)[i] > 0 ? args.in(0)[i] : 0;
  });
}

KernelOffer reference_relu_grad(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  return offer_function("reference", [=](const KernelArgs& args, const StepArgs&) {
    for (int64_t i = 0; i < count; ++i) args.out()[i] = args.in(1)[i] > 0 ? args.in(0)[i] : 0;
  });
}

}  // namespace pando::kernels
