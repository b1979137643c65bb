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
#include "pando/kernels/winograd_tiles.h"

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

// The addresses of one call, bound before the first step. For an op that gathers slices, `inputs`
// holds the same input of every slice, in slice order.
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
  // Whether run() honours step.part. If false, run() is only called for the whole node. Parts share
  // the outputs and write disjoint elements, except in an op with Trait::batch_sum: there each part
  // has its own outputs and writes all their elements, which are its share of the sum.
  virtual bool splits() const { return false; }
  virtual void run(const KernelArgs& args, const StepArgs& step) const = 0;
};

// An input that the kernel reads in a special layout, and the kernel that packs it.
struct Packing {
  int input = 0;
  ir::Layout layout;
  std::shared_ptr<const Kernel> packer;
  DType dtype = DType::f32;  // of the packed elements
};

// A kernel, or the reason why there is none. A refusal is an answer, not an error.
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
  std::string name;  // "native", "winograd4", "winograd", "direct", "fast", "onednn", "reference"
  KernelOffer (*offer)(const ir::Node& node);
  // Only set for a native candidate, which multiplies 16-bit numbers as they are and takes no other
  // nodes. Returns why it should not be chosen for a node; empty if it should. Other candidates may
  // be faster, Winograd's only with the tiles that the options allow.
  std::string (*why_not_native)(const ir::Node& node, WinogradTiles most) = nullptr;
  // Whether its kernels read 16-bit operands themselves and round their results. Otherwise such
  // nodes are computed in tiles.
  bool takes_halves = false;
  // Offers a kernel also for nodes for which `offer` refuses because another kernel is faster
  // according to our table; null: `offer` has no such rule.
  KernelOffer (*offer_unmeasured)(const ir::Node& node) = nullptr;
  bool native() const { return why_not_native != nullptr; }
};

// Whether the candidate handles nodes with operands of these types.
bool is_for(const Candidate& candidate, const ir::Node& node);

// The candidates of an op in order of preference, the reference kernel last. Throws
// InvalidArgument for an op without kernels.
const std::vector<Candidate>& candidates(std::string_view op);

// What a candidate offers for a node. If the node has 16-bit operands, the offer is a kernel that
// works in tiles, which are converted to f32 unless the candidate is native, or the candidate's own
// if it takes halves. `most` is what the options allow Winograd's candidates.
KernelOffer offer_kernel(const Candidate& candidate, const ir::Node& node,
                         WinogradTiles most = WinogradTiles::up_to_4);

// The same without the rules of our table on which kernel is faster, for measurements.
KernelOffer offer_any_kernel(const Candidate& candidate, const ir::Node& node,
                             WinogradTiles most = WinogradTiles::up_to_4);

}  // namespace pando::kernels
