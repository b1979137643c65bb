// Programs of inference bound to the memory of one thread, or of threads that compute every call
// together. Every address is known before the first run.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "pando/compiler/program.h"
#include "pando/kernels/kernel.h"
#include "pando/runtime/machine/arena.h"
#include "pando/runtime/machine/barrier.h"
#include "pando/runtime/program/frozen_weights.h"

namespace pando::runtime {

// A program without pipeline stages and gradients, of one slice or in parts, and its weights.
struct InferenceProgram {
  std::unique_ptr<const compiler::Program> program;
  WeightAddresses weights;

  int64_t samples() const;      // of a run
  size_t memory_bytes() const;  // to bind it to
};

// The arena of a BoundInference of these programs.
size_t arena_bytes(const std::vector<InferenceProgram>& programs);

// The programs share one arena, as large as the largest of them needs. One run at a time.
class BoundInference {
 public:
  // Requires: all programs have the same number of parts; they outlive it.
  BoundInference(const std::vector<InferenceProgram>& programs, int spins);
  BoundInference(const BoundInference&) = delete;
  BoundInference& operator=(const BoundInference&) = delete;

  int parts() const { return parts_; }
  int64_t samples(size_t program) const { return bound_[program].samples; }  // of a run
  // Where a run reads the samples of an input, by the order of the graph's feeds, and where it
  // leaves its results, by the order of its outputs.
  std::byte* feed(size_t program, size_t index) const { return bound_[program].feeds[index]; }
  const std::byte* result(size_t program, size_t index) const {
    return bound_[program].results[index];
  }
  // Computes a share of every call. One thread per part calls it, all at the same time, each with
  // its own part. Allocates nothing.
  void run(size_t program, int part);

 private:
  struct BoundCall {
    const kernels::Kernel* kernel = nullptr;
    kernels::KernelArgs args;
    std::vector<size_t> zeroed_bytes;  // of a sum that this part leaves at zero
    bool runs = true;
    bool split = false;
  };
  struct Bound {
    int64_t samples = 0;
    std::vector<std::byte*> feeds;
    std::vector<std::byte*> results;
    std::vector<std::vector<BoundCall>> calls;  // [part][call of the section]
  };

  Bound bind(const InferenceProgram& program);
  BoundCall bind_call(const InferenceProgram& program, const compiler::Call& call, int part);
  std::byte* address(const InferenceProgram& program, const compiler::Operand& operand,
                     int part) const;

  const int parts_;
  Arena arena_;
  Barrier barrier_;
  std::vector<std::unique_ptr<std::byte*[]>> arrays_;
  std::vector<Bound> bound_;
};

}  // namespace pando::runtime
