// SPDX-License-Identifier: MIT
#include "pando/kernels/half/half_packer.h"

#include <algorithm>

#include "pando/base/strings.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/half/rounding_key.h"

namespace pando::kernels::half {

namespace {

// Rounded numbers stay in the first-level cache until they are widened again.
constexpr int64_t kBlock = 2048;

class HalfPacker : public Kernel {
 public:
  struct Source {
    DType half = DType::f16;
    int64_t elements = 0;
    bool rounds = false;  // the source is f32
    bool keeps = false;   // the packer reads 16 bits
    NodeRounding rounding;
  };

  HalfPacker(std::shared_ptr<const Kernel> packer, const Source& source)
      : packer_(std::move(packer)), source_(source) {
    fast::ScratchCutter plan;
    plan.bytes(packer_->scratch_bytes());
    if (source_.keeps) {
      plan.bytes(rounded_bytes());
    } else {
      plan.floats(source_.elements);
    }
    scratch_bytes_ = plan.used();
  }
  std::string name() const override {
    return concat(to_string(source_.half), ":", packer_->name());
  }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool splits() const override { return packer_->splits(); }

  void run(const KernelArgs& args, const StepArgs& step) const override {
    fast::ScratchCutter cutter(args.scratch);
    std::byte* inner = cutter.bytes(packer_->scratch_bytes());
    const std::byte* inputs[] = {source_.keeps ? in_half(args, step, cutter.bytes(rounded_bytes()))
                                               : in_f32(args, step, cutter)};
    packer_->run({.inputs = inputs, .outputs = args.outputs, .scratch = inner, .num_inputs = 1},
                 step);
  }

 private:
  size_t rounded_bytes() const {
    return source_.rounds ? static_cast<size_t>(source_.elements) * sizeof(uint16_t) : 0;
  }

  const std::byte* in_half(const KernelArgs& args, const StepArgs& step, std::byte* memory) const {
    if (!source_.rounds) return args.inputs[0];
    round_halves(source_.half, args.in(0), reinterpret_cast<uint16_t*>(memory), source_.elements,
                 source_.rounding.of(step, step.first_sample));
    return memory;
  }

  const std::byte* in_f32(const KernelArgs& args, const StepArgs& step,
                          fast::ScratchCutter& cutter) const {
    float* wide = cutter.floats(source_.elements);
    if (source_.rounds) {
      round_wide(args.in(0), wide, step);
    } else {
      widen_halves(source_.half, args.in_as<uint16_t>(0), wide, source_.elements);
    }
    return reinterpret_cast<const std::byte*>(wide);
  }

  void round_wide(const float* from, float* wide, const StepArgs& step) const {
    HalfRounding rounding = source_.rounding.of(step, step.first_sample);
    uint16_t rounded[kBlock];
    for (int64_t at = 0; at < source_.elements; at += kBlock) {
      const int64_t count = std::min(kBlock, source_.elements - at);
      rounding.first = static_cast<uint64_t>(at);
      round_halves(source_.half, from + at, rounded, count, rounding);
      widen_halves(source_.half, rounded, wide + at, count);
    }
  }

  std::shared_ptr<const Kernel> packer_;
  Source source_;
  size_t scratch_bytes_ = 0;
};

}  // namespace

Packing of_half_variable(Packing packing, const ir::Node& node) {
  const ir::Value& value = *node.input(packing.input);
  const bool rounds = !value.is_input() && value.producer()->op() == "round_variable";
  const HalfPacker::Source source{
      .half = value.type().dtype,
      .elements = value.shape().elements(),
      .rounds = rounds,
      .keeps = packing.dtype != DType::f32,
      .rounding = rounds ? NodeRounding(*value.producer()) : NodeRounding()};
  packing.packer = std::make_shared<HalfPacker>(std::move(packing.packer), source);
  return packing;
}

}  // namespace pando::kernels::half
