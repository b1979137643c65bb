// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/dense_kernels.h"

#include "pando/kernels/direct/direct_dense.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels {
namespace {

DenseGeometry dense_geometry(const Shape& x, const Shape& y) {
  return {.batch = x.front(), .features = x.back(), .units = y.back()};
}

}  // namespace

KernelOffer direct_dense(const ir::Node& node) {
  const DenseGeometry g = dense_geometry(node.input(0)->shape(), node.output()->shape());
  std::string why_not;
  if (!DirectDense::supports(g, &why_not)) return refuse(why_not);
  const DirectDense dense(g);
  const NodeActivation activation = node_activation(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    const Epilogue epilogue{.bias = args.num_inputs > 2 ? args.in(2) : nullptr,
                            .activation = activation.kind,
                            .alpha = activation.alpha};
    dense.forward({args.in(0), args.in(1), epilogue, args.out()}, args.scratch, step.part);
  };
  return offer_function(dense.name(), run,
                        {.splits = true, .scratch_bytes = dense.forward_scratch_bytes()});
}

KernelOffer direct_dense_input_grad(const ir::Node& node) {
  const DenseGeometry g = dense_geometry(node.output()->shape(), node.input(0)->shape());
  std::string why_not;
  if (!DirectDense::supports(g, &why_not)) return refuse(why_not);
  const DirectDense dense(g);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    dense.input_grad({args.in(0), args.in(1), args.out()}, args.scratch, step.part);
  };
  return offer_function(dense.name(), run,
                        {.splits = true, .scratch_bytes = dense.input_grad_scratch_bytes()});
}

KernelOffer direct_dense_filter_grad(const ir::Node& node) {
  const DenseGeometry g = dense_geometry(node.input(0)->shape(), node.input(1)->shape());
  std::string why_not;
  if (!DirectDense::supports(g, &why_not)) return refuse(why_not);
  const DirectDense dense(g);
  const bool bias = node.num_outputs() > 1;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    dense.filter_grad({args.in(0), args.in(1), args.out(0), bias ? args.out(1) : nullptr},
                      args.scratch, step.part);
  };
  return offer_function(dense.name(), run,
                        {.splits = true, .scratch_bytes = dense.filter_grad_scratch_bytes()});
}

}  // namespace pando::kernels
