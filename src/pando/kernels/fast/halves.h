// Operands that may be stored in 16 bits, for kernels that widen them block by block and round
// their results while these are in the first-level cache.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>

#include "pando/base/strings.h"
#include "pando/kernels/half/rounding_key.h"
#include "pando/kernels/kernel.h"
#include "pando/tensor/half_rounding.h"

namespace pando::kernels::fast {

// The elements of a 16-bit operand that are widened at a time.
inline constexpr int64_t kHalfChunk = 2048;

// The elements of an input, in f32 or in 16 bits.
class Elements {
 public:
  Elements(const float* numbers)  // NOLINT(google-explicit-constructor): most callers have f32
      : data_(reinterpret_cast<const std::byte*>(numbers)) {}
  // `buffer` has room for a block, unless the type is f32.
  Elements(DType dtype, const std::byte* data, float* buffer)
      : data_(data), dtype_(dtype), buffer_(buffer) {}

  Elements from(int64_t first) const {
    return {dtype_, data_ + first * static_cast<int64_t>(size_of(dtype_)), buffer_};
  }
  // Elements [first, first + count) in f32, until the next call.
  const float* block(int64_t first, int64_t count) const {
    if (!half::is_half(dtype_)) return reinterpret_cast<const float*>(data_) + first;
    widen_halves(dtype_, reinterpret_cast<const uint16_t*>(data_) + first, buffer_, count);
    return buffer_;
  }

 private:
  const std::byte* data_;
  DType dtype_ = DType::f32;
  float* buffer_ = nullptr;
};

// Output 0 of a node, in f32 or in 16 bits, which has one row per sample.
class SampleOutput {
 public:
  explicit SampleOutput(const ir::Node& node)
      : dtype_(node.output()->type().dtype),
        sample_elements_(std::max<int64_t>(node.output()->shape().elements_from(1), 1)),
        rounding_(node) {}

  // Where the kernel writes the elements from `first` on.
  float* block(const KernelArgs& args, int64_t first, float* buffer) const {
    return half::is_half(dtype_) ? buffer : args.out() + first;
  }
  // Rounds elements [first, first + count). The noise depends on the sample.
  void finish(const KernelArgs& args, const StepArgs& step, int64_t first, int64_t count,
              const float* buffer) const {
    if (!half::is_half(dtype_)) return;
    for (const int64_t end = first + count; first < end;) {
      const int64_t sample = first / sample_elements_;
      const int64_t next = std::min((sample + 1) * sample_elements_, end);
      HalfRounding how = rounding_.of(step, step.first_sample + sample);
      how.first = static_cast<uint64_t>(first - sample * sample_elements_);
      round_halves(dtype_, buffer, args.out_as<uint16_t>(0) + first, next - first, how);
      buffer += next - first;
      first = next;
    }
  }
  void clear(const KernelArgs& args, int64_t first, int64_t last) const {
    const auto bytes = static_cast<int64_t>(size_of(dtype_));
    std::fill(args.outputs[0] + first * bytes, args.outputs[0] + last * bytes, std::byte{0});
  }

 private:
  DType dtype_;
  int64_t sample_elements_;
  half::NodeRounding rounding_;
};

// "fast", or "bf16:fast" for a node whose input 0 is stored in bf16.
inline std::string fast_name(const ir::Node& node) {
  const DType dtype = node.input(0)->type().dtype;
  return half::is_half(dtype) ? concat(to_string(dtype), ":fast") : "fast";
}

}  // namespace pando::kernels::fast
