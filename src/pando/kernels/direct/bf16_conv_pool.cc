// SPDX-License-Identifier: MIT
#include "pando/kernels/direct/bf16_conv_pool.h"

#include <array>

#include "pando/base/cpu.h"
#include "pando/base/strings.h"
#include "pando/kernels/conv_node.h"
#include "pando/kernels/direct/forward_pool.h"
#include "pando/kernels/direct/pack.h"
#include "pando/kernels/direct/pair_kernels.h"
#include "pando/kernels/direct/scratch.h"
#include "pando/kernels/fast/halves.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/half/half_packer.h"
#include "pando/kernels/node_activation.h"

namespace pando::kernels {
namespace {

using direct::GatherPlan;
using direct::PairKernels;

// A part has whole samples.
class Bf16ConvPool : public Kernel {
 public:
  Bf16ConvPool(const ir::Node& node, ConvGeometry g, const PoolNodeGeometry& pool)
      : isa_(direct::avx512_bf16_kernels()),
        batch_(g.batch),
        activation_(node_activation(node)),
        output_(node) {
    const std::array<int, 3> axes = direct::outer_first_axes(g);
    g.batch = 1;
    g.in_channels /= 2;  // pairs
    plan_ = std::make_shared<direct::PoolPlan>(direct::reorder_axes(g, axes),
                                               PoolGeometry{pool.window, pool.stride, pool.out},
                                               axes, isa_.panels);
    sample_elements_ = pool.out_pixels() * pool.channels;
    if (node.num_inputs() > 2) {
      bias_type_ = node.input(2)->type().dtype;
      bias_elements_ = pool.channels;
    }
    scratch_bytes_ = Scratch(*this, nullptr).bytes;
  }
  const GatherPlan& plan() const { return plan_->conv; }
  std::string name() const override { return concat("bf16:direct:", isa_.panels.name); }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool splits() const override { return true; }

  void run(const KernelArgs& args, const StepArgs& step) const override {
    const Scratch scratch(*this, args.scratch);
    Epilogue epilogue{.activation = activation_.kind, .alpha = activation_.alpha};
    if (bias_elements_ > 0) {
      epilogue.bias =
          fast::Elements(bias_type_, args.inputs[2], scratch.bias).block(0, bias_elements_);
    }
    for (int64_t n = step.part.begin(batch_); n < step.part.end(batch_); ++n) {
      const int64_t at = n * sample_elements_;
      direct::forward_pool(*plan_, isa_.panels,
                           {args.in(0) + n * plan_->conv.source_size(),
                            args.in(1),
                            epilogue,
                            {scratch.results, args.out_as<uint8_t>(1) + at}},
                           scratch.rows, {});
      output_.finish(args, step, at, sample_elements_, scratch.results);
    }
  }

 private:
  struct Scratch {
    Scratch(const Bf16ConvPool& kernel, std::byte* memory) {
      fast::ScratchCutter cutter(memory);
      bias = cutter.floats(kernel.bias_elements_);
      results = cutter.floats(kernel.sample_elements_);
      rows = cutter.bytes(direct::scratch_bytes({kernel.plan_->rows_floats}));
      bytes = cutter.used();
    }
    float* bias;
    float* results;   // of one sample
    std::byte* rows;  // of the convolution, before pooling
    size_t bytes;
  };

  const PairKernels& isa_;
  int64_t batch_;
  NodeActivation activation_;
  fast::SampleOutput output_;
  DType bias_type_ = DType::f32;
  int64_t bias_elements_ = 0;
  std::shared_ptr<const direct::PoolPlan> plan_;
  int64_t sample_elements_ = 0;
  size_t scratch_bytes_ = 0;
};

// Packs a filter [taps, in, out]: makes pairs of neighbouring input channels in scratch memory,
// then panels of them.
class PairPacker : public Kernel {
 public:
  explicit PairPacker(const GatherPlan& plan) : plan_(plan) {
    taps_ = plan.spec.filter[0] * plan.spec.filter[1] * plan.spec.filter[2];
  }
  std::string name() const override { return "direct:pack"; }
  bool splits() const override { return true; }
  size_t scratch_bytes() const override {
    const int64_t pairs = taps_ * plan_.group_source * plan_.spec.output_channels;
    return static_cast<size_t>(pairs + plan_.lanes) * sizeof(float);
  }

  void run(const KernelArgs& args, const StepArgs& step) const override {
    const PairKernels& isa = direct::avx512_bf16_kernels();
    auto* pairs = reinterpret_cast<float*>(args.scratch);
    const int64_t channels = plan_.spec.output_channels;
    for (int64_t tap = 0; tap < taps_; ++tap) {
      // Only the rows that this part packs.
      const int64_t end = step.part.end(plan_.group_source);
      for (int64_t c = step.part.begin(plan_.group_source); c < end; ++c) {
        const int64_t row = tap * plan_.group_source + c;
        const uint16_t* even = args.in_as<uint16_t>(0) + 2 * row * channels;
        isa.make_pairs(even, even + channels, channels, pairs + row * channels);
      }
    }
    pack_panels(plan_, isa.panels, {direct::PackOrder::forward, pairs, args.out()}, step.part);
  }

 private:
  GatherPlan plan_;
  int64_t taps_;
};

Packing pair_packing(const ir::Node& node, const GatherPlan& plan) {
  const char* isa = direct::avx512_bf16_kernels().panels.name;
  Packing packing{
      .input = 1,
      .layout = {concat("direct-forward-", isa, "-g", plan.spec.groups), 2 * plan.packed_floats},
      .packer = std::make_shared<PairPacker>(plan),
      .dtype = DType::bf16};
  return half::of_half_variable(std::move(packing), node);
}

}  // namespace

std::string why_not_bf16_conv_pool(const ir::Node&, WinogradTiles) {
  if (const std::string isa = isa_name(); isa != "avx512") {
    return concat("needs avx512; the instruction set in use is ", isa);
  }
  return cpu_features().avx512_bf16 ? "" : "this processor has no bf16 instructions";
}

// Measured on a Zen 4 core, 16 samples, 16 .. 64 channels, without pooling: the time of Winograd's
// tiles of 2x2 in f32 divided by the time of these panels is 1.2, that of direct sums in f32 1.4 ..
// 1.9.
KernelOffer bf16_conv_pool(const ir::Node& node) {
  for (const ir::Value* value : {node.input(0), node.input(1), node.output(0)}) {
    if (value->type().dtype != DType::bf16) return refuse("needs operands and results in bf16");
  }
  const ConvGeometry geometry = conv_geometry(node);
  if (const int64_t channels = geometry.in_channels / geometry.groups; channels % 2 != 0) {
    return refuse(concat("needs pairs of channels to sum over, got ", channels));
  }
  std::string why;
  if (!DirectConv::supports(geometry, &why)) return refuse(why);
  const auto kernel = std::make_shared<Bf16ConvPool>(node, geometry, pool_geometry(node));
  KernelOffer result = offer(kernel);
  result.packings.push_back(pair_packing(node, kernel->plan()));
  return result;
}

}  // namespace pando::kernels
