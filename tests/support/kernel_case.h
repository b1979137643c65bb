// One node with data for its inputs, to run every candidate of its op and compare the results with
// those of the reference kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pando/kernels/kernel.h"
#include "pando/ops/op.h"

namespace pando::test {

// Bytes that start on a cache line, with a guard after them that detects writes beyond the end.
class Buffer {
 public:
  explicit Buffer(size_t bytes);
  std::byte* data() { return lines_.front().bytes; }
  const std::byte* data() const { return lines_.front().bytes; }
  float* floats() { return reinterpret_cast<float*>(data()); }
  const float* floats() const { return reinterpret_cast<const float*>(data()); }
  size_t size() const { return bytes_; }
  bool guard_intact() const;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  size_t bytes_;
  std::vector<Line> lines_;
};

struct KernelCase {
  std::string op;
  std::vector<ir::TensorType> inputs;
  ir::Attributes attributes = {};
  int outputs = 1;
};

struct Agreement {
  double tolerance = 1e-5;  // relative to the value, and to the largest of its tensor
  int64_t valid = -1;       // real samples; -1: all
  int64_t first_sample = 0;
  bool may_refuse = false;  // oneDNN, native and Winograd always may: they lack some cases
  bool half = true;         // also checks f16, to the precision of f16
};

// The node of a case in a graph of its own, with random inputs: normal numbers, small class numbers
// for i32, any byte for u8.
class BoundCase {
 public:
  explicit BoundCase(const KernelCase& kernel_case, uint64_t seed = 1);

  // The same case with 16-bit operands, except those that the op keeps exact; its numbers are
  // rounded. `marks` are attributes that the compiler adds.
  BoundCase lowered(DType half, const ir::Attributes& marks = {}) const;

  const ir::Node& node() const { return *node_; }
  // For attributes that passes set on nodes besides the op's own.
  ir::Attributes& attributes() { return node_->attributes(); }
  Buffer& input(int index) { return inputs_[static_cast<size_t>(index)]; }
  // Replaces every number of an f32 input.
  void map_input(int index, const std::function<float(float)>& function);

  kernels::KernelOffer offer(const std::string& candidate) const;
  // The outputs of one run. Requires: an offer that is not a refusal.
  std::vector<Buffer> run(const kernels::KernelOffer& offer, kernels::StepArgs step) const;
  // The outputs of a splitting kernel that runs in parts, combined as in the runtime: sums over the
  // samples are added, everything else is written to one place.
  std::vector<Buffer> run_parts(const kernels::KernelOffer& offer, kernels::StepArgs step,
                                int parts) const;
  // Like run(), with the output in the memory of input 0.
  std::vector<Buffer> run_in_place(const kernels::KernelOffer& offer, kernels::StepArgs step) const;
  kernels::StepArgs step(const Agreement& agreement) const;

  // Expects every candidate to agree with the reference: whole, in three parts, and in place if the
  // op allows it. Returns how many candidates did not refuse.
  int expect_agreement(const Agreement& agreement = {}) const;

 private:
  std::vector<Buffer> packed_inputs(const kernels::KernelOffer& offer) const;
  std::vector<Buffer> make_outputs() const;
  void expect_half_agreement(const Agreement& agreement) const;

  KernelCase case_;
  ir::Graph graph_;
  ir::Node* node_ = nullptr;
  std::vector<Buffer> inputs_;
};

inline uint16_t* halves(Buffer& buffer) { return reinterpret_cast<uint16_t*>(buffer.data()); }
inline const uint16_t* halves(const Buffer& buffer) {
  return reinterpret_cast<const uint16_t*>(buffer.data());
}

inline ir::TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

// Expects equal outputs, number by number; `what` names the place.
void expect_close(const ir::Node& node, const std::vector<Buffer>& got,
                  const std::vector<Buffer>& wanted, double tolerance, const std::string& what);

}  // namespace pando::test
