// SPDX-License-Identifier: MIT
#include "pando/kernels/half/partials.h"

#include <algorithm>
#include <cstring>

#include "pando/base/strings.h"
#include "pando/kernels/fast/finish_pixels.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/half/tile_sums.h"
#include "pando/kernels/node_activation.h"
#include "pando/ops/conv_operands.h"
#include "pando/ops/op.h"
#include "pando/tensor/half_rounding.h"

namespace pando::kernels::half {

namespace {

constexpr int64_t kRun = 2048;  // numbers that stay in the first-level cache

// A matrix of rows whose columns [first, first + count) are copied side by side.
struct Columns {
  int64_t rows = 0;
  int64_t stride = 0;
  int64_t first = 0;
  int64_t count = 0;
};

void copy_columns(const float* from, float* to, const Columns& columns) {
  for (int64_t row = 0; row < columns.rows; ++row) {
    std::memcpy(to + row * columns.count, from + row * columns.stride + columns.first,
                static_cast<size_t>(columns.count) * sizeof(float));
  }
}

// The node's sums, block by block. `x` is the operand that is multiplied with the weights: x or dy.
struct Blocks {
  explicit Blocks(const ir::Node& node)
      : backward(ops::is_input_grad(node)),
        x(node.input(0)->shape()),
        filter(node.input(1)->shape()),
        channels(x.back()),
        grouped(node.attributes().get_int("groups", 1) != 1) {
    size = grouped ? channels : std::min(kPartialChannels, channels);
    count = (channels + size - 1) / size;
  }
  int64_t of(int64_t block) const { return std::min(size, channels - block * size); }
  int64_t x_rows() const { return x.elements() / std::max<int64_t>(channels, 1); }

  Shape x_shape(int64_t width) const {
    Shape shape = x;
    shape[shape.rank() - 1] = width;
    return shape;
  }
  Shape filter_shape(int64_t width) const {
    Shape shape = filter;
    if (!grouped) shape[shape.rank() - (backward ? 1 : 2)] = width;
    return shape;
  }
  // In the forward pass, the rows [in][out] of the weights of one position lie side by side.
  Columns filter_columns(int64_t block) const {
    const int64_t out = filter.back();
    const int64_t in = filter[filter.rank() - 2];
    const int64_t positions = filter.elements() / std::max<int64_t>(in * out, 1);
    if (grouped) return {1, filter.elements(), 0, filter.elements()};
    if (backward) return {positions * in, out, block * size, of(block)};
    return {positions, in * out, block * size * out, of(block) * out};
  }

  bool backward;
  Shape x;
  Shape filter;
  int64_t channels;
  bool grouped;
  int64_t size = 0;
  int64_t count = 0;
};

// The node with the channels of one block, without bias and activation.
KernelOffer offer_block(const Candidate& candidate, const ir::Node& node, const Blocks& blocks,
                        int64_t width) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::InputRole::variable,
                                 ir::TensorType{DType::f32, blocks.x_shape(width)});
  ir::Value* filter = graph.add_input("filter", ir::InputRole::variable,
                                      ir::TensorType{DType::f32, blocks.filter_shape(width)});
  ir::Attributes attributes = node.attributes();
  attributes.erase("activation");
  attributes.erase("alpha");
  ir::Node* block = graph.append(
      {.op = node.op(), .inputs = {x, filter}, .attributes = attributes, .name = node.name()});
  block->output()->set_type(ops::infer_types(*block)[0]);
  return candidate.offer(*block);
}

struct BlockKernel {
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<const Kernel> packer;  // null: the weights are read plain
  int64_t filter_floats = 0;             // weights as the kernel reads them
};

BlockKernel block_kernel(KernelOffer offer, const Blocks& blocks, int64_t width) {
  BlockKernel result{.kernel = std::move(offer.kernel)};
  result.filter_floats = blocks.filter_shape(width).elements();
  for (Packing& packing : offer.packings) {
    result.packer = std::move(packing.packer);
    result.filter_floats = packing.layout.elements;
  }
  return result;
}

// All blocks except the last have the same kernel.
struct BlockKernels {
  BlockKernel whole;
  BlockKernel last;
  const BlockKernel& of(const Blocks& blocks, int64_t block) const {
    return block + 1 == blocks.count ? last : whole;
  }
  int64_t at(int64_t block) const { return block * whole.filter_floats; }
  int64_t filter_floats(const Blocks& blocks) const {
    return at(blocks.count - 1) + last.filter_floats;
  }
  size_t scratch_bytes() const {
    return std::max(whole.kernel->scratch_bytes(), last.kernel->scratch_bytes());
  }
};

// Packs the weights of all blocks one after the other.
class BlockPacker : public Kernel {
 public:
  BlockPacker(Blocks blocks, BlockKernels kernels)
      : blocks_(std::move(blocks)), kernels_(std::move(kernels)) {
    scratch_bytes_ = cut(nullptr).used();
  }
  std::string name() const override { return "partials:pack"; }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  void run(const KernelArgs& args, const StepArgs&) const override {
    float* plain = nullptr;
    std::byte* inner = nullptr;
    cut(args.scratch, &plain, &inner);
    for (int64_t block = 0; block < blocks_.count; ++block) {
      const BlockKernel& kernel = kernels_.of(blocks_, block);
      float* to = args.out() + kernels_.at(block);
      if (kernel.packer == nullptr) {
        copy_columns(args.in(0), to, blocks_.filter_columns(block));
        continue;
      }
      copy_columns(args.in(0), plain, blocks_.filter_columns(block));
      const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(plain)};
      std::byte* outputs[] = {reinterpret_cast<std::byte*>(to)};
      kernel.packer->run({.inputs = inputs, .outputs = outputs, .scratch = inner, .num_inputs = 1},
                         {});
    }
  }

 private:
  fast::ScratchCutter cut(std::byte* memory, float** plain = nullptr,
                          std::byte** inner = nullptr) const {
    fast::ScratchCutter cutter(memory);
    float* floats = cutter.floats(blocks_.filter_shape(blocks_.size).elements());
    size_t most = 0;
    for (const BlockKernel* kernel : {&kernels_.whole, &kernels_.last}) {
      if (kernel->packer != nullptr) most = std::max(most, kernel->packer->scratch_bytes());
    }
    std::byte* bytes = cutter.bytes(most);
    if (plain != nullptr) *plain = floats;
    if (inner != nullptr) *inner = bytes;
    return cutter;
  }

  Blocks blocks_;
  BlockKernels kernels_;
  size_t scratch_bytes_ = 0;
};

class PartialsKernel : public Kernel {
 public:
  PartialsKernel(const ir::Node& node, DType half, Blocks blocks, BlockKernels kernels)
      : half_(half),
        blocks_(std::move(blocks)),
        kernels_(std::move(kernels)),
        bias_(node.num_inputs() > 2),
        elements_(node.output()->shape().elements()),
        out_channels_(node.output()->shape().back()),
        activation_(node_activation(node)) {
    name_ = concat("partials of ", kernels_.whole.kernel->name());
    scratch_bytes_ = Scratch(*this, nullptr).bytes;
  }
  std::string name() const override { return name_; }
  size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const KernelArgs& args, const StepArgs& step) const override {
    const Scratch scratch(*this, args.scratch);
    for (int64_t block = 0; block < blocks_.count; ++block) {
      copy_columns(args.in(0), scratch.x,
                   {blocks_.x_rows(), blocks_.channels, block * blocks_.size, blocks_.of(block)});
      const float* filter = args.in(1) + kernels_.at(block);
      const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(scratch.x),
                                   reinterpret_cast<const std::byte*>(filter)};
      float* sums = block == 0 ? args.out() : scratch.sums;
      std::byte* outputs[] = {reinterpret_cast<std::byte*>(sums)};
      kernels_.of(blocks_, block)
          .kernel->run(
              {.inputs = inputs, .outputs = outputs, .scratch = scratch.inner, .num_inputs = 2},
              step);
      if (block == 0) {
        round_partial(half_, args.out(), elements_);
      } else {
        add_partial(half_, args.out(), scratch.sums, elements_);
      }
    }
    fast::finish_pixels(args.out(), elements_ / out_channels_, out_channels_,
                        bias_ ? args.in(2) : nullptr, activation_);
  }

 private:
  struct Scratch {
    Scratch(const PartialsKernel& kernel, std::byte* memory) {
      fast::ScratchCutter cutter(memory);
      inner = cutter.bytes(kernel.kernels_.scratch_bytes());
      x = cutter.floats(kernel.blocks_.x_rows() * kernel.blocks_.size);
      sums = cutter.floats(kernel.elements_);
      bytes = cutter.used();
    }
    std::byte* inner;
    float* x;
    float* sums;
    size_t bytes;
  };

  DType half_;
  Blocks blocks_;
  BlockKernels kernels_;
  bool bias_;
  int64_t elements_;
  int64_t out_channels_;
  NodeActivation activation_;
  std::string name_;
  size_t scratch_bytes_ = 0;
};

}  // namespace

bool has_partials(const ir::Node& node) { return node.attributes().get_int("half_partials") == 1; }

KernelOffer offer_in_partials(const Candidate& candidate, const ir::Node& node, DType half) {
  const Blocks blocks(node);
  KernelOffer whole = offer_block(candidate, node, blocks, blocks.of(0));
  if (whole.kernel == nullptr) return whole;
  KernelOffer last = offer_block(candidate, node, blocks, blocks.of(blocks.count - 1));
  if (last.kernel == nullptr) return refuse(concat("last block: ", last.refusal));
  const std::string layout = whole.packings.empty() ? "plain" : whole.packings[0].layout.name;
  const BlockKernels kernels{
      .whole = block_kernel(std::move(whole), blocks, blocks.of(0)),
      .last = block_kernel(std::move(last), blocks, blocks.of(blocks.count - 1))};
  KernelOffer result = offer(std::make_shared<PartialsKernel>(node, half, blocks, kernels));
  result.packings.push_back(
      {.input = 1,
       .layout = {concat("partials-", blocks.backward ? "backward-" : "forward-", layout),
                  kernels.filter_floats(blocks)},
       .packer = std::make_shared<BlockPacker>(blocks, kernels)});
  return result;
}

void round_partial(DType half, float* values, int64_t count) {
  uint16_t halves[kRun];
  for (int64_t at = 0; at < count; at += kRun) {
    const int64_t run = std::min(kRun, count - at);
    round_halves(half, values + at, halves, run, {});
    widen_halves(half, halves, values + at, run);
  }
}

void add_partial(DType half, float* total, float* newest, int64_t count) {
  for (int64_t at = 0; at < count; at += kRun) {
    const int64_t run = std::min(kRun, count - at);
    round_partial(half, newest + at, run);
    add_tile(Share::sum, total + at, newest + at, run);
    round_partial(half, total + at, run);
  }
}

}  // namespace pando::kernels::half
