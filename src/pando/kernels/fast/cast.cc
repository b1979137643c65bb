// Conversions between element types, all through f32: each type has a loop that loads a block as
// f32 and one that stores it. Values are rounded to the 16-bit types as the node specifies.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "pando/base/multiversion.h"
#include "pando/kernels/fast/fast.h"
#include "pando/kernels/fast/support.h"
#include "pando/kernels/half/rounding_key.h"
#include "pando/tensor/convert.h"
#include "pando/tensor/half_rounding.h"

namespace pando::kernels {
namespace {

using fast::Range;

constexpr int64_t kBlock = 1024;  // stays in the first-level cache

PANDO_MULTIVERSION void load_u8(const uint8_t* __restrict from, float* __restrict to,
                                int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
PANDO_MULTIVERSION void load_i32(const int32_t* __restrict from, float* __restrict to,
                                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
PANDO_MULTIVERSION void store_u8(const float* __restrict from, uint8_t* __restrict to,
                                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = f32_to_u8(from[i]);
}
PANDO_MULTIVERSION void store_i32(const float* __restrict from, int32_t* __restrict to,
                                  int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = f32_to_i32(from[i]);
}

class Cast {
 public:
  explicit Cast(const ir::Node& node)
      : from_(node.input(0)->type().dtype),
        to_(node.output()->type().dtype),
        rounding_(node),
        // A variable has no samples: one numbering runs over all its elements.
        row_(node.op() == "round_variable" ? node.output()->shape().elements()
                                           : node.output()->shape().elements_from(1)) {}

  void run(const KernelArgs& args, const StepArgs& step, Range mine) const {
    if (from_ == to_) return copy(args, mine);
    const bool by_sample = half::is_half(to_) && rounding_.stochastic;
    for (int64_t at = mine.begin; at < mine.end;) {
      int64_t end = std::min(at + kBlock, mine.end);
      HalfRounding rounding = rounding_.of(step, step.first_sample);
      if (by_sample) {
        const int64_t sample = at / row_;
        end = std::min(end, (sample + 1) * row_);
        rounding = rounding_.of(step, step.first_sample + sample);
        rounding.first = static_cast<uint64_t>(at - sample * row_);
      }
      convert(args, {at, end}, rounding);
      at = end;
    }
  }

 private:
  void copy(const KernelArgs& args, Range mine) const {
    const size_t at = static_cast<size_t>(mine.begin) * size_of(to_);
    std::memmove(args.outputs[0] + at, args.inputs[0] + at,
                 static_cast<size_t>(mine.size()) * size_of(to_));
  }

  void convert(const KernelArgs& args, Range r, const HalfRounding& rounding) const {
    if (to_ == DType::f32) return load(args, r, args.out() + r.begin);
    if (from_ == DType::f32) return store(args.in(0) + r.begin, args, r, rounding);
    float block[kBlock];
    load(args, r, block);
    store(block, args, r, rounding);
  }

  void load(const KernelArgs& args, Range r, float* to) const {
    switch (from_) {
      case DType::f32: break;  // read in place
      case DType::f16:
      case DType::bf16: return widen_halves(from_, args.in_as<uint16_t>(0) + r.begin, to, r.size());
      case DType::u8: return load_u8(args.in_as<uint8_t>(0) + r.begin, to, r.size());
      case DType::i32: return load_i32(args.in_as<int32_t>(0) + r.begin, to, r.size());
    }
  }

  void store(const float* from, const KernelArgs& args, Range r,
             const HalfRounding& rounding) const {
    switch (to_) {
      case DType::f32: break;  // loaded directly into the output
      case DType::f16:
      case DType::bf16:
        return round_halves(to_, from, args.out_as<uint16_t>(0) + r.begin, r.size(), rounding);
      case DType::u8: return store_u8(from, args.out_as<uint8_t>(0) + r.begin, r.size());
      case DType::i32: return store_i32(from, args.out_as<int32_t>(0) + r.begin, r.size());
    }
  }

  DType from_;
  DType to_;
  half::NodeRounding rounding_;
  int64_t row_;  // elements that are numbered together
};

}  // namespace

KernelOffer fast_cast(const ir::Node& node) {
  const int64_t count = node.output()->shape().elements();
  const auto run = [cast = Cast(node), count](const KernelArgs& args, const StepArgs& step) {
    cast.run(args, step, fast::element_share(step.part, count));
  };
  return offer_function("fast", run, fast::kSplits);
}

}  // namespace pando::kernels
