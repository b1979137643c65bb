// SPDX-License-Identifier: MIT
#include "pando/kernels/half/half_kernel.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/half/cutting.h"
#include "pando/kernels/half/half_packer.h"
#include "pando/kernels/half/partials.h"
#include "pando/kernels/half/rounding_key.h"
#include "pando/kernels/half/tile_sums.h"
#include "pando/ops/op.h"

namespace pando::kernels::half {

namespace {

constexpr int kMostOperands = 64;  // on one side of a node; concatenations have many

// Tiles of pixels pass through several short kernels while they are in the first levels of the
// cache.
constexpr int64_t kPixelTileBytes = 96 << 10;
// Tiles of samples share the second-level cache with the other operands of a kernel. If those are
// large (the weights of late layers), larger tiles read them less often.
constexpr int64_t kSampleTileBytes = 256 << 10;
constexpr int64_t kMostSampleTileBytes = 4 << 20;

// One operand from the view of a tile.
struct TileOperand {
  Share share = Share::rows;
  DType dtype = DType::f32;
  bool kept = false;          // the kernel reads it in 16 bits
  int64_t unit_elements = 0;  // if share is rows: elements of one unit
  int64_t elements = 0;       // otherwise: all elements
  bool converts() const { return is_half(dtype) && !kept; }
  int64_t bytes_at(int64_t units) const {
    return units * unit_elements * static_cast<int64_t>(size_of(dtype));
  }
  // The size of an element that the kernel reads or writes.
  int64_t kernel_bytes() const {
    return static_cast<int64_t>(kept ? sizeof(uint16_t) : sizeof(float));
  }
};

TileOperand operand_of(const ir::Value& value, Share share, const Cut& cut) {
  TileOperand operand{.share = share, .dtype = value.type().dtype};
  operand.elements = value.shape().elements();
  if (share == Share::rows)
    operand.unit_elements = operand.elements / std::max<int64_t>(cut.units, 1);
  return operand;
}

DType half_type(const ir::Node& node) {
  for (const auto* values : {&node.inputs(), &node.outputs()}) {
    for (const ir::Value* value : *values) {
      if (is_half(value->type().dtype)) return value->type().dtype;
    }
  }
  return DType::f32;
}

class TiledKernel : public Kernel {
 public:
  struct Tiles {
    std::shared_ptr<const Kernel> kernel;
    std::shared_ptr<const Kernel> rest;  // for the last tile if it is smaller; may be null
    int64_t units = 1;                   // units of a tile
  };

  TiledKernel(const ir::Node& node, Cut cut, Tiles tiles, const std::vector<int>& packed)
      : cut_(std::move(cut)), tiles_(std::move(tiles)), rounding_(node), half_(half_type(node)) {
    partials_ = has_partials(node);
    const bool sums_of_tiles = partials_ && cut_.outputs[0] != Share::rows;
    name_ =
        concat(to_string(half_), ":", sums_of_tiles ? "partials of " : "", tiles_.kernel->name());
    for (int i = 0; i < node.num_inputs(); ++i) {
      inputs_.push_back(operand_of(*node.input(i), cut_.inputs[static_cast<size_t>(i)], cut_));
      inputs_.back().kept = cut_.kept[static_cast<size_t>(i)];
      if (std::find(packed.begin(), packed.end(), i) != packed.end()) {
        inputs_.back().dtype = DType::f32;  // the packer has already converted it
      }
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      outputs_.push_back(operand_of(*node.output(i), cut_.outputs[static_cast<size_t>(i)], cut_));
    }
    PANDO_CHECK(inputs_.size() <= kMostOperands && outputs_.size() <= kMostOperands, node.label(),
                " has too many operands");
    scratch_bytes_ = Scratch(*this, nullptr).bytes;
  }

  std::string name() const override { return name_; }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool splits() const override { return true; }

  void run(const KernelArgs& args, const StepArgs& step) const override {
    Scratch scratch(*this, args.scratch);
    widen_whole(args, scratch);
    const int64_t tiles = (cut_.units + tiles_.units - 1) / tiles_.units;
    const int64_t begin = step.part.begin(tiles);
    const int64_t end = step.part.end(tiles);
    for (int64_t tile = begin; tile < end; ++tile) {
      run_tile(args, step, scratch, {tile * tiles_.units, tile == begin});
    }
    finish_sums(args, step, scratch, begin < end);
  }

 private:
  struct Tile {
    int64_t first = 0;   // first unit
    bool opens = false;  // the first tile of this call
  };

  // The scratch memory of a call, for the operands that it converts.
  struct Scratch {
    Scratch(const TiledKernel& kernel, std::byte* memory) {
      fast::ScratchCutter cutter(memory);
      const size_t own =
          std::max(kernel.tiles_.kernel->scratch_bytes(),
                   kernel.tiles_.rest == nullptr ? 0 : kernel.tiles_.rest->scratch_bytes());
      inner = cutter.bytes(own);
      for (size_t i = 0; i < kernel.inputs_.size(); ++i) {
        inputs[i] = cut(cutter, kernel.inputs_[i], kernel.tiles_.units);
      }
      for (size_t i = 0; i < kernel.outputs_.size(); ++i) {
        const TileOperand& output = kernel.outputs_[i];
        outputs[i] = cut(cutter, output, kernel.tiles_.units);
        if (output.share != Share::rows) newest[i] = cutter.floats(output.elements);
      }
      bytes = cutter.used();
    }
    static float* cut(fast::ScratchCutter& cutter, const TileOperand& operand, int64_t units) {
      if (!operand.converts()) return nullptr;
      return cutter.floats(operand.share == Share::rows ? units * operand.unit_elements
                                                        : operand.elements);
    }
    std::byte* inner = nullptr;
    float* inputs[kMostOperands] = {};   // null: read in place
    float* outputs[kMostOperands] = {};  // null: written in place; if sums: the total
    float* newest[kMostOperands] = {};   // if sums: the contribution of one tile
    size_t bytes = 0;
  };

  void widen_whole(const KernelArgs& args, const Scratch& scratch) const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const TileOperand& input = inputs_[i];
      if (input.share == Share::rows || !input.converts()) continue;
      widen_halves(input.dtype, args.in_as<uint16_t>(static_cast<int>(i)), scratch.inputs[i],
                   input.elements);
    }
  }

  const std::byte* tile_input(const KernelArgs& args, const Scratch& scratch, size_t i,
                              int64_t first, int64_t units) const {
    const TileOperand& input = inputs_[i];
    const std::byte* from = args.inputs[i];
    if (input.share == Share::rows) from += input.bytes_at(first);
    if (!input.converts()) return from;
    if (input.share == Share::rows) {
      widen_halves(input.dtype, reinterpret_cast<const uint16_t*>(from), scratch.inputs[i],
                   units * input.unit_elements);
    }
    return reinterpret_cast<const std::byte*>(scratch.inputs[i]);
  }

  // The first tile writes its sums directly to the total, the others beside it.
  std::byte* tile_output(const KernelArgs& args, const Scratch& scratch, size_t i,
                         const Tile& tile) const {
    const TileOperand& output = outputs_[i];
    if (output.share != Share::rows && !tile.opens) {
      return reinterpret_cast<std::byte*>(scratch.newest[i]);
    }
    if (output.converts()) return reinterpret_cast<std::byte*>(scratch.outputs[i]);
    return args.outputs[i] + (output.share == Share::rows ? output.bytes_at(tile.first) : 0);
  }

  StepArgs tile_step(const StepArgs& step, int64_t first, int64_t units) const {
    StepArgs inner = step;
    inner.part = {};
    inner.valid = std::clamp<int64_t>(step.valid * cut_.unit_pixels - first, 0, units);
    inner.batch_valid = step.batch_valid * cut_.unit_pixels;
    inner.first_sample = step.first_sample + first / cut_.unit_pixels;
    return inner;
  }

  void run_tile(const KernelArgs& args, const StepArgs& step, const Scratch& scratch,
                const Tile& tile) const {
    const int64_t units = std::min(tiles_.units, cut_.units - tile.first);
    const std::byte* inputs[kMostOperands];
    std::byte* outputs[kMostOperands];
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs[i] = tile_input(args, scratch, i, tile.first, units);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) outputs[i] = tile_output(args, scratch, i, tile);
    const Kernel& kernel = units == tiles_.units ? *tiles_.kernel : *tiles_.rest;
    kernel.run({.inputs = inputs,
                .outputs = outputs,
                .scratch = scratch.inner,
                .num_inputs = static_cast<int>(inputs_.size())},
               tile_step(step, tile.first, units));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const TileOperand& output = outputs_[i];
      if (output.share == Share::rows) {
        if (output.converts()) round_rows(args, step, scratch, i, {tile.first, units});
      } else if (!tile.opens) {
        float* total = output.converts() ? scratch.outputs[i] : args.out(static_cast<int>(i));
        add_share(output, total, scratch.newest[i]);
      } else if (partials_) {
        round_partial(half_, reinterpret_cast<float*>(outputs[i]), output.elements);
      }
    }
  }

  void add_share(const TileOperand& output, float* total, float* newest) const {
    if (partials_) return add_partial(half_, total, newest, output.elements);
    add_tile(output.share, total, newest, output.elements);
  }

  struct Units {
    int64_t first = 0;
    int64_t count = 0;
  };

  // Noise depends on the sample, so with stochastic rounding a tile is rounded sample by sample.
  void round_rows(const KernelArgs& args, const StepArgs& step, const Scratch& scratch, size_t i,
                  const Units& tile) const {
    const TileOperand& output = outputs_[i];
    uint16_t* to = args.out_as<uint16_t>(static_cast<int>(i)) + tile.first * output.unit_elements;
    const float* from = scratch.outputs[i];
    if (!rounding_.stochastic) {
      return round_halves(output.dtype, from, to, tile.count * output.unit_elements,
                          rounding_.of(step, 0));
    }
    const int64_t end = tile.first + tile.count;
    for (int64_t unit = tile.first; unit < end;) {
      const int64_t sample = unit / cut_.unit_pixels;
      const int64_t next = std::min((sample + 1) * cut_.unit_pixels, end);
      HalfRounding rounding = rounding_.of(step, step.first_sample + sample, static_cast<int>(i));
      rounding.first =
          static_cast<uint64_t>((unit - sample * cut_.unit_pixels) * output.unit_elements);
      const int64_t at = (unit - tile.first) * output.unit_elements;
      round_halves(output.dtype, from + at, to + at, (next - unit) * output.unit_elements,
                   rounding);
      unit = next;
    }
  }

  void finish_sums(const KernelArgs& args, const StepArgs& step, const Scratch& scratch,
                   bool any) const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const TileOperand& output = outputs_[i];
      if (output.share == Share::rows) continue;
      if (!any) {
        std::memset(args.outputs[i], 0,
                    static_cast<size_t>(output.elements) * size_of(output.dtype));
      } else if (output.converts()) {
        // All parts have the same samples, but each part gets its own noise.
        HalfRounding rounding = rounding_.of(step, step.first_sample, static_cast<int>(i));
        rounding.key = mix_keys(rounding.key, static_cast<uint64_t>(step.part.index));
        round_halves(output.dtype, scratch.outputs[i], args.out_as<uint16_t>(static_cast<int>(i)),
                     output.elements, rounding);
      }
    }
  }

  Cut cut_;
  Tiles tiles_;
  NodeRounding rounding_;
  DType half_;
  bool partials_ = false;  // sums over samples are rounded after each sample, which is a tile
  std::string name_;
  std::vector<TileOperand> inputs_;
  std::vector<TileOperand> outputs_;
  size_t scratch_bytes_ = 0;
};

// The number of units of a tile; all tiles are as equal as whole units allow.
int64_t tile_units(const ir::Node& node, const Cut& cut) {
  int64_t unit_bytes = 0;
  int64_t whole_bytes = 0;
  const auto add = [&](const TileOperand& operand) {
    const bool rows = operand.share == Share::rows;
    (rows ? unit_bytes : whole_bytes) +=
        (rows ? operand.unit_elements : operand.elements) * operand.kernel_bytes();
  };
  for (size_t i = 0; i < cut.inputs.size(); ++i) {
    TileOperand operand = operand_of(*node.input(static_cast<int>(i)), cut.inputs[i], cut);
    operand.kept = cut.kept[i];
    add(operand);
  }
  for (size_t i = 0; i < cut.outputs.size(); ++i)
    add(operand_of(*node.output(static_cast<int>(i)), cut.outputs[i], cut));
  const int64_t budget = cut.unit == Unit::pixel
                             ? kPixelTileBytes
                             : std::clamp(whole_bytes, kSampleTileBytes, kMostSampleTileBytes);
  const int64_t most = std::clamp<int64_t>(budget / std::max<int64_t>(unit_bytes, 1), 1, cut.units);
  const int64_t tiles = (cut.units + most - 1) / most;
  return (cut.units + tiles - 1) / tiles;
}

bool same_layouts(const std::vector<Packing>& a, const std::vector<Packing>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Packing& x, const Packing& y) {
    return x.input == y.input && x.layout == y.layout;
  });
}

}  // namespace

bool has_half_operands(const ir::Node& node) {
  const auto half = [](const ir::Value* value) { return is_half(value->type().dtype); };
  return std::any_of(node.inputs().begin(), node.inputs().end(), half) ||
         std::any_of(node.outputs().begin(), node.outputs().end(), half);
}

std::string why_not_native(const Candidate& candidate, const ir::Node& node, WinogradTiles most) {
  if (!candidate.native()) return "";
  if (has_partials(node)) return "computes partial sums in f32; the node needs them in 16 bits";
  return candidate.why_not_native(node, most);
}

KernelOffer offer_tiled(const Candidate& candidate, const ir::Node& node) {
  Cut cut = cut_of(node, candidate.native());
  const bool sums = cut.outputs[0] != Share::rows;
  const auto offer_tile = [&](int64_t units) {
    const Twin twin(node, cut, units);
    // Partial sums are cut by the channels of the weights; products of two activations have none.
    if (!has_partials(node) || sums || !ops::input_spec(node, 1).shared) {
      return candidate.offer(twin.node());
    }
    return offer_in_partials(candidate, twin.node(), half_type(node));
  };
  TiledKernel::Tiles tiles;
  tiles.units = candidate.name == "reference" ? cut.units : tile_units(node, cut);
  if (has_partials(node) && sums) tiles.units = 1;
  KernelOffer inner = offer_tile(tiles.units);
  if (inner.kernel == nullptr) return inner;
  tiles.kernel = inner.kernel;
  if (const int64_t rest = cut.units % tiles.units; rest > 0) {
    const KernelOffer smaller = offer_tile(rest);
    if (smaller.kernel == nullptr) return refuse(concat("last tile: ", smaller.refusal));
    // oneDNN's choice of layout also depends on the number of samples.
    if (!same_layouts(inner.packings, smaller.packings)) {
      return refuse("the last tile needs a different layout of the weights");
    }
    tiles.rest = smaller.kernel;
  }
  KernelOffer result;
  std::vector<int> packed;
  for (Packing& packing : inner.packings) {
    packed.push_back(packing.input);
    result.packings.push_back(of_half_variable(std::move(packing), node));
  }
  result.kernel = std::make_shared<TiledKernel>(node, std::move(cut), std::move(tiles), packed);
  return result;
}

}  // namespace pando::kernels::half
