// SPDX-License-Identifier: MIT
#include "pando/kernels/winograd/conv_kernels.h"

#include <algorithm>

#include "pando/base/strings.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/divide_up.h"
#include "pando/kernels/function_kernel.h"
#include "pando/kernels/node_activation.h"
#include "pando/kernels/winograd/winograd_conv.h"
#include "pando/ops/conv_operands.h"

namespace pando::kernels {
namespace {

// The number of products of one input channel with one output channel along one axis, without those
// that multiply padding.
int64_t products(const ConvGeometry& g, size_t axis) {
  int64_t count = 0;
  for (int64_t o = 0; o < g.out[axis]; ++o) {
    for (int64_t k = 0; k < 3; ++k) {
      const int64_t i = o + k - g.pad_low[axis];
      if (i >= 0 && i < g.in[axis]) ++count;
    }
  }
  return count;
}

// Measured on a Zen 4 core: the time of the direct kernel divided by the time of Winograd, with
// AVX-512 (with AVX2). The columns are ranges of the ratio of their multiplications, which is at
// most 2.25; borders and odd extents lower it.
//   channels   ratio 2.16 .. 2.25      1.8 .. 2.0             1.39
//   12 -> 12   1.2 (1.07)
//   16 -> 16   1.35 .. 1.6 (1.2 .. 1.4)
//   32 -> 32   1.7 (1.6)               1.5 (1.4)
//   64 -> 64   1.8 (1.7)               1.6 .. 1.7 (1.6)
//   32 -> 64   1.5 .. 1.8 (1.5 .. 1.7) 1.45 (1.4)             1.13 (1.15)
//   256 -> 256                         1.8, filter gradient 1.35 (1.5, 1.45)
//   512 -> 512, 7x7 outputs            1.04, filter gradient 0.8; packing is 5 ms slower
// On an Intel Xeon with AVX-512 (with AVX2), 1024 -> 1024 channels, 8x8 outputs, two samples:
// forward 1.4 (2.0), packing 13 ms slower; filter gradient, which packs nothing, 1.4 (2.1).
struct HugeFilter {  // what pays off above 256 x 256 channels
  int64_t tiles;
  double ratio;
};
constexpr HugeFilter kPackedFilter = {64, 1.95};
constexpr HugeFilter kFilterGradient = {32, 1.8};

// How many times fewer multiplications tiles of this size need. `outputs` are the extents that
// tiles cover: those of y or of dx.
double saved_products(const ConvGeometry& g, const ConvGeometry::Extents& outputs, int64_t tile) {
  const int64_t tiles = divide_up(outputs[1], tile) * divide_up(outputs[2], tile);
  const int64_t planes = (tile + 2) * (tile + 2);
  return static_cast<double>(products(g, 1) * products(g, 2)) / static_cast<double>(planes * tiles);
}

std::string why_direct_is_faster(const ConvGeometry& g, const ConvGeometry::Extents& outputs,
                                 const HugeFilter& least) {
  const int64_t fewest = std::min(g.in_channels, g.out_channels);
  if (fewest < 16) return "direct is faster below 16 channels";
  const int64_t tiles = divide_up(outputs[1], 2) * divide_up(outputs[2], 2);
  const double ratio = saved_products(g, outputs, 2);
  const bool huge = g.in_channels * g.out_channels > 256 * 256;
  // Transforming and reading a huge filter has to pay off.
  if (huge && g.batch * tiles < least.tiles) {
    return concat("direct is faster above 256 x 256 channels below ", least.tiles, " tiles, got ",
                  g.batch * tiles);
  }
  const double wanted = huge ? least.ratio : (fewest < 32 ? 2.0 : 1.35);
  if (ratio >= wanted) return "";
  return concat("direct is faster: ", outputs[1], "x", outputs[2], " outputs save a factor of ",
                ratio, " in multiplications, ", fewest, " channels need ", wanted);
}

std::string why_not(const ConvGeometry& geometry, const ConvGeometry::Extents& outputs,
                    const HugeFilter& least = kPackedFilter) {
  std::string reason;
  if (!WinogradConv::supports(geometry, &reason)) return reason;
  return why_direct_is_faster(geometry, outputs, least);
}

// Measured on a Zen 5 core with AVX-512: the time of tiles of 2x2 divided by the time of tiles of
// 4x4, which need at most 1.78 times fewer multiplications. Columns: forward and input gradient,
// filter gradient.
//   32x32 outputs,   16 ->   16 channels, 16 samples   1.6        1.6
//   16x16 and 8x8,   32 .. 64 channels, 16 samples     1.5 .. 1.6 1.4
//   56x56,           64 ->   64, 1 sample              1.5        1.4
//   28x28,          128 ->  128, 1 sample              1.6        1.7
//   14x14,          256 ->  256, 1 sample              1.2        1.1
//   16x16,          512 ->  512, 2 samples             1.7        1.1
//    8x8,          1024 -> 1024, 2 samples             0.6        0.6
constexpr double kLeastGain = 1.3;        // in multiplications
constexpr int64_t kFewestHugeTiles = 32;  // above 256 x 256 channels, as for HugeFilter

std::string why_small_tiles_are_faster(const ConvGeometry& g,
                                       const ConvGeometry::Extents& outputs) {
  const double gain = saved_products(g, outputs, 4) / saved_products(g, outputs, 2);
  if (gain < kLeastGain) {
    return concat("tiles of 2x2 are faster: ", outputs[1], "x", outputs[2],
                  " outputs save a factor of ", gain, " in multiplications, it takes ", kLeastGain);
  }
  const int64_t tiles = g.batch * divide_up(outputs[1], 4) * divide_up(outputs[2], 4);
  if (g.in_channels * g.out_channels <= 256 * 256 || tiles >= kFewestHugeTiles) return "";
  return concat("tiles of 2x2 are faster above 256 x 256 channels below ", kFewestHugeTiles,
                " tiles of 4x4, got ", tiles);
}

std::string kernel_name(const WinogradConv& conv) {
  return concat("winograd:", conv.isa_name(), " ", conv.tile(), "x", conv.tile());
}

using PackFunction = void (WinogradConv::*)(const float*, float*, Part) const;

struct PackSpec {
  const char* layout;
  size_t floats;
  PackFunction pack;
};

KernelOffer offer_packed(const WinogradConv& conv, const PackSpec& spec, KernelFunction run,
                         size_t scratch_bytes) {
  KernelOffer offer = offer_function(kernel_name(conv), std::move(run),
                                     {.splits = true, .scratch_bytes = scratch_bytes});
  const auto pack = [conv, function = spec.pack](const KernelArgs& args, const StepArgs& step) {
    (conv.*function)(args.in(0), args.out(), step.part);
  };
  offer.packings.push_back(
      {.input = 1,
       .layout = {concat("winograd", conv.tile(), spec.layout, conv.isa_name()),
                  static_cast<int64_t>(spec.floats)},
       .packer = std::make_shared<FunctionKernel>("winograd:pack", pack,
                                                  FunctionTraits{.splits = true})});
  return offer;
}

KernelOffer offer_forward(const WinogradConv& conv, KernelFunction run) {
  return offer_packed(conv,
                      {"-forward-", conv.forward_kernel_floats(), &WinogradConv::pack_forward},
                      std::move(run), conv.forward_scratch_bytes());
}

WinogradConv::Input bound_input(const NodeActivation& activation, const KernelArgs& args) {
  const float* bias = args.num_inputs > 2 ? args.in(2) : nullptr;
  const float* residual = args.num_inputs > 3 ? args.in(3) : nullptr;
  return {args.in(0), args.in(1), {bias, activation.kind, activation.alpha, residual}};
}

KernelOffer offer_conv(const ir::Node& node, int tile) {
  const WinogradConv conv(conv_geometry(node), tile);
  const NodeActivation activation = node_activation(node);
  return offer_forward(conv, [=](const KernelArgs& args, const StepArgs& step) {
    conv.forward(bound_input(activation, args), args.out(), args.scratch, step.part);
  });
}

// Requires tiles of 2x2: they are the windows, and compute equal outputs where a picture is even.
KernelOffer offer_conv_pool(const ir::Node& node, int tile) {
  if (pool_geometry(node).window != ConvGeometry::Extents{1, 2, 2}) {
    return refuse("the pooling window is not 2x2");
  }
  const WinogradConv conv(conv_geometry(node), tile);
  const NodeActivation activation = node_activation(node);
  return offer_forward(conv, [=](const KernelArgs& args, const StepArgs& step) {
    conv.forward_pool(bound_input(activation, args), {args.out(0), args.out_as<uint8_t>(1)},
                      args.scratch, step.part);
  });
}

KernelOffer offer_input_grad(const ir::Node& node, int tile) {
  const WinogradConv conv(conv_geometry(node), tile);
  const NodeActivation activation = node_activation(node);
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    conv.backward_input(bound_input(activation, args), args.out(), args.scratch, step.part);
  };
  return offer_packed(conv,
                      {"-backward-", conv.backward_kernel_floats(), &WinogradConv::pack_backward},
                      run, conv.backward_input_scratch_bytes());
}

KernelOffer offer_filter_grad(const ir::Node& node, int tile) {
  const WinogradConv conv(conv_geometry(node), tile);
  const bool bias = node.num_outputs() > 1;
  const auto run = [=](const KernelArgs& args, const StepArgs& step) {
    conv.backward_kernel(args.in(0), args.in(1), {args.out(0), bias ? args.out(1) : nullptr},
                         args.scratch, step.part);
  };
  return offer_function(kernel_name(conv), run,
                        {.splits = true, .scratch_bytes = conv.backward_kernel_scratch_bytes()});
}

std::string why_no_outputs(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  return why_not(geometry, geometry.out);
}
std::string why_no_input_grad(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  return why_not(geometry, geometry.in);
}
std::string why_no_filter_grad(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  return why_not(geometry, geometry.out, kFilterGradient);
}

// `reason` is why tiles of 2x2 are refused.
std::string why_not_4(std::string reason, const ConvGeometry& geometry,
                      const ConvGeometry::Extents& outputs) {
  return reason.empty() ? why_small_tiles_are_faster(geometry, outputs) : reason;
}

using OfferFunction = KernelOffer (*)(const ir::Node&, int tile);

KernelOffer offer_unless(std::string reason, OfferFunction offer, const ir::Node& node, int tile) {
  return reason.empty() ? offer(node, tile) : refuse(std::move(reason));
}

KernelOffer offer_if_able(OfferFunction offer, const ir::Node& node, int tile) {
  std::string reason;
  if (!WinogradConv::supports(conv_geometry(node), &reason)) return refuse(std::move(reason));
  return offer(node, tile);
}

}  // namespace

KernelOffer winograd_conv(const ir::Node& node) {
  return offer_unless(why_no_outputs(node), offer_conv, node, 2);
}
KernelOffer winograd_conv_pool(const ir::Node& node) {
  return offer_unless(why_no_outputs(node), offer_conv_pool, node, 2);
}
KernelOffer winograd_conv_input_grad(const ir::Node& node) {
  return offer_unless(why_no_input_grad(node), offer_input_grad, node, 2);
}
KernelOffer winograd_conv_filter_grad(const ir::Node& node) {
  return offer_unless(why_no_filter_grad(node), offer_filter_grad, node, 2);
}

KernelOffer winograd4_conv(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  return offer_unless(why_not_4(why_no_outputs(node), geometry, geometry.out), offer_conv, node, 4);
}
KernelOffer winograd4_conv_input_grad(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  return offer_unless(why_not_4(why_no_input_grad(node), geometry, geometry.in), offer_input_grad,
                      node, 4);
}
KernelOffer winograd4_conv_filter_grad(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  return offer_unless(why_not_4(why_no_filter_grad(node), geometry, geometry.out),
                      offer_filter_grad, node, 4);
}

double saved_by_winograd4(const ir::Node& node) {
  const ConvGeometry geometry = conv_geometry(node);
  const ops::ConvOperands operands = ops::conv_operands(node);
  const ConvGeometry::Extents& outputs = operands.input_grad ? geometry.in : geometry.out;
  const HugeFilter& least = operands.filter_grad ? kFilterGradient : kPackedFilter;
  const std::string reason = why_not_4(why_not(geometry, outputs, least), geometry, outputs);
  return reason.empty() ? saved_products(geometry, outputs, 4) : 0;
}

KernelOffer any_winograd_conv(const ir::Node& node) { return offer_if_able(offer_conv, node, 2); }
KernelOffer any_winograd_conv_input_grad(const ir::Node& node) {
  return offer_if_able(offer_input_grad, node, 2);
}
KernelOffer any_winograd_conv_filter_grad(const ir::Node& node) {
  return offer_if_able(offer_filter_grad, node, 2);
}
KernelOffer any_winograd_conv_pool(const ir::Node& node) {
  return offer_if_able(offer_conv_pool, node, 2);
}

KernelOffer any_winograd4_conv(const ir::Node& node) { return offer_if_able(offer_conv, node, 4); }
KernelOffer any_winograd4_conv_input_grad(const ir::Node& node) {
  return offer_if_able(offer_input_grad, node, 4);
}
KernelOffer any_winograd4_conv_filter_grad(const ir::Node& node) {
  return offer_if_able(offer_filter_grad, node, 4);
}

}  // namespace pando::kernels
