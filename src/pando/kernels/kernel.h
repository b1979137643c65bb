// A kernel computes one node of a compiled graph; candidates offer kernels in order of
// preference, and the last candidate of every op is its plain reference kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pando/ir/graph.h"
#include "pando/kernels/part.h"

namespace pando::kernels {

// What changes from step to step. A micro-batch is cut into slices of equal size; the samples of
// a slice beyond `valid` are padding: finite values whose gradients must come out as zero.
struct StepArgs {
  Part part;                 // the share of the call to compute; {0, 1} is all of it
  int64_t valid = 0;         // real samples at the front of this slice
  int64_t batch_valid = 0;   // real samples in all slices of the micro-batch
  float loss_scale = 1;      // 1 / real samples of the weight update
  uint64_t seed = 0;         // of the run
  int64_t first_sample = 0;  // running number of the slice's first sample over the whole run
};

// Addresses of one call, bound before the first step. An op that gathers slices finds the same
// input of all slices, in slice order, in `inputs`.
struct KernelArgs {
  const std::byte* const* inputs = nullptr;
  std::byte* const* outputs = nullptr;
  std::byte* scratch = nullptr;  // scratch_bytes() bytes, 64-byte aligned, contents undefined
  int num_inputs = 0;

  const float* in(int index) const { return reinterpret_cast<const float*>(inputs[index]); }
  float* out(int index = 0) const { return reinterpret_cast<float*>(outputs[index]); }
  template <typename T>
  const T* in_as(int index) const {
    return reinterpret_cast<const T*>(inputs[index]);
  }
  template <typename T>
  T* out_as(int index) const {
    return reinterpret_cast<T*>(outputs[index]);
  }
};

// Immutable: run() may be called from several threads at once with different arguments. It
// allocates nothing and throws nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::string name() const = 0;  // "reference", "direct:avx2 6x2", "onednn:jit:avx2"
  virtual size_t scratch_bytes() const { return 0; }
  // Whether run() honours step.part. If not, it is only ever called with the whole. Parts share the
  // outputs and write disjoint elements, except for an op with Trait::batch_sum: each part has
  // outputs of its own and writes all their elements, its share of the sum.
  virtual bool splits() const { return false; }
  virtual void run(const KernelArgs& args, const StepArgs& step) const = 0;
};

// An input that the kernel wants in a layout of its own, and the kernel that packs it.
struct Packing {
  int input = 0;
  ir::Layout layout;
  std::shared_ptr<const Kernel> packer;
  DType dtype = DType::f32;  // of the packed elements
};

// A kernel, or the reason why not: refusal is an answer, not an error.
struct KernelOffer {
  std::shared_ptr<const Kernel> kernel;
  std::string refusal;
  std::vector<Packing> packings;
};

inline KernelOffer refuse(std::string why) { return {.refusal = std::move(why)}; }
inline KernelOffer offer(std::shared_ptr<const Kernel> kernel) {
  return {.kernel = std::move(kernel)};
}

// A source of kernels for one op. `offer` sees a node whose inputs and outputs are typed.
struct Candidate {
  std::string name;  // "native", "winograd", "direct", "fast", "onednn", "reference"
  KernelOffer (*offer)(const ir::Node& node);
  // Of a candidate that multiplies 16-bit numbers as they are, and is for no other nodes: why it
  // should not be taken for a node; empty if it should.
  std::string (*why_not_native)(const ir::Node& node) = nullptr;
  bool native() const { return why_not_native != nullptr; }
};

// Whether the candidate is meant for nodes with such operands.
bool is_for(const Candidate& candidate, const ir::Node& node);

// The candidates of an op in order of preference, the reference kernel last. Throws
// InvalidArgument for an op without kernels.
const std::vector<Candidate>& candidates(std::string_view op);

// What a candidate offers for a node. With operands of 16 bits that is its kernel in tiles, in f32
// unless the candidate is native.
KernelOffer offer_kernel(const Candidate& candidate, const ir::Node& node);

}  // namespace pando::kernels
