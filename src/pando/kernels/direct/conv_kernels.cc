// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/conv_kernels.h"

#include <algorithm>

#include "pando/base/strings.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/direct/direct_conv.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels {
namespace {

enum class Direction { forward, backward };

// Extracts the instruction set from a name such as "direct:avx2 6x2".
std::string isa_name_of(const DirectConv& conv) {
  const std::string name = conv.name();
  const size_t begin = name.find(':') + 1;
  return name.substr(begin, name.find(' ') - begin);
}

// The name contains everything besides the shape that determines the packed filter: the width of
// vectors, the groups and, for the input gradient of a strided convolution, which taps meet which
// inputs.
std::string layout_name(const DirectConv& conv, Direction direction) {
  const ConvGeometry& g = conv.geometry();
  std::string name =
      concat(direction == Direction::forward ? "direct-forward-" : "direct-backward-",
             isa_name_of(conv), "-g", g.groups);
  if (direction == Direction::forward || g.stride == ConvGeometry::Extents{1, 1, 1}) return name;
  for (size_t axis = 0; axis < 3; ++axis) {
    name += concat("-s", g.stride[axis], "d", g.dilation[axis], "p", g.pad_low[axis], "i",
                   std::min(g.in[axis], g.stride[axis]));
  }
  return name;
}

Packing kernel_packing(const DirectConv& conv, Direction direction) {
  const bool forward = direction == Direction::forward;
  const size_t floats = forward ? conv.forward_kernel_floats() : conv.backward_kernel_floats();
  const auto pack = [=](const KernelArgs& args, const StepArgs& step) {
    if (forward) {
      conv.pack_forward(args.in(0), args.out(), step.part);
    } else {
      conv.pack_backward(args.in(0), args.out(), step.part);
    }
  };
  return {.input = 1,
          .layout = {layout_name(conv, direction), static_cast<int64_t>(floats)},
          .packer = std::make_shared<FunctionKernel>("direct:pack", pack,
                                                     FunctionTraits{.splits = true})};
}

KernelOffer offer_packed(const DirectConv& conv, Direction direction, KernelFunction run,
                         size_t scratch_bytes) {
  KernelOffer offer =
      offer_function(conv.name(), std::move(run), {.splits = true, .scratch_bytes = scratch_bytes});
  offer.packings.push_back(kernel_packing(conv, direction));
  return offer;
}

// The epilogue of a node. Its third and fourth inputs, if any, are the bias and the residual, which
// are bound at the call.
Epilogue epilogue_of(const ir::Node& node) {
  const NodeActivation activation = node_activation(node);
  return {.activation = activation.kind, .alpha = activation.alpha};
}

Epilogue bound(Epilogue epilogue, const KernelArgs& args) {
  if (args.num_inputs > 2) epilogue.bias = args.in(2);
  if (args.num_inputs > 3) epilogue.residual = args.in(3);
  return epilogue;
}

KernelOffer offer_forward(const ir::Node& node, const ConvGeometry& geometry) {
  std::string why_not;
  if (!DirectConv::supports(geometry, &why_not)) return refuse(why_not);
  const DirectConv conv(geometry);
  const Epilogue epilogue = epilogue_of(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    conv.forward(args.in(0), args.in(1), bound(epilogue, args), args.out(), step.part);
  };
  return offer_packed(conv, Direction::forward, run, 0);
}

KernelOffer offer_input_grad(const ir::Node& node, const ConvGeometry& geometry) {
  std::string why_not;
  if (!DirectConv::supports(geometry, &why_not)) return refuse(why_not);
  const DirectConv conv(geometry);
  const Epilogue epilogue = epilogue_of(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    conv.backward_input(args.in(0), args.in(1), bound(epilogue, args), args.out(), step.part);
  };
  return offer_packed(conv, Direction::backward, run, 0);
}

KernelOffer offer_filter_grad(const ir::Node& node, const ConvGeometry& geometry) {
  std::string why_not;
  if (!DirectConv::supports(geometry, &why_not)) return refuse(why_not);
  const DirectConv conv(geometry);
  const bool bias = node.num_outputs() > 1;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    conv.backward_kernel(args.in(0), args.in(1), {args.out(0), bias ? args.out(1) : nullptr},
                         args.scratch, step.part);
  };
  return offer_function(conv.name(), run,
                        {.splits = true, .scratch_bytes = conv.backward_kernel_scratch_bytes()});
}

}  // namespace

KernelOffer direct_conv(const ir::Node& node) { return offer_forward(node, conv_geometry(node)); }

KernelOffer direct_conv_input_grad(const ir::Node& node) {
  return offer_input_grad(node, conv_geometry(node));
}

KernelOffer direct_conv_filter_grad(const ir::Node& node) {
  return offer_filter_grad(node, conv_geometry(node));
}

KernelOffer direct_conv_pool(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  std::string why_not;
  if (!DirectConv::supports(geometry, &why_not)) return refuse(why_not);
  const PoolNodeGeometry windows = pool_geometry(node);
  const PoolGeometry pool{windows.window, windows.stride, windows.out};
  const DirectConv conv(geometry, pool);
  const Epilogue epilogue = epilogue_of(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    conv.forward_pool(args.in(0), args.in(1), bound(epilogue, args),
                      {args.out(0), args.out_as<uint8_t>(1)}, args.scratch, step.part);
  };
  return offer_packed(conv, Direction::forward, run, conv.forward_pool_scratch_bytes());
}

}  // namespace pando::kernels
