// A program bound to memory: an arena, the model's variables and the workers that will run it.
// Every address is known before the first step.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "pando/compiler/program.h"
#include "pando/runtime/arena.h"
#include "pando/runtime/variables.h"
#include "pando/runtime/worker_team.h"

namespace pando::runtime {

// Methods that take a slice are called by the worker that owns it: slice s belongs to worker s
// modulo the team's size. Different slices may run at once.
class Instance {
 public:
  // Requires: program, variables and team outlive the instance.
  Instance(const compiler::Program& program, VariableStore& variables, WorkerTeam& team);

  const compiler::Program& program() const { return program_; }
  int workers() const { return team_.size(); }
  int slices() const { return program_.slices(); }
  int64_t slice_batch() const { return slice_batch_; }  // samples of one slice, padding included

  void run_prologue(int worker) const;
  void run_segment(const compiler::Segment& segment, int slice) const;

  // Sets what changes with every step. `valid` counts the real samples of the micro-batch.
  void begin_step(int slice, int64_t valid, const kernels::StepArgs& common);
  // Copies the samples of a slice out of one micro-batch, in feed order.
  void feed(int slice, const std::byte* const* fields, int64_t valid) const;

  // First sample and number of real samples of a slice. With parts, slice 0 has them all.
  int64_t slice_first(int slice) const;
  int64_t slice_valid(int slice, int64_t valid) const;
  // The address of a value in a slice.
  std::byte* address(const ir::Value* value, int slice) const;

 private:
  struct BoundCall {
    const kernels::Kernel* kernel = nullptr;
    kernels::KernelArgs args;
    std::vector<size_t> zeroed_bytes;  // parts of a sum that this slice leaves at zero
    bool runs = true;
    bool split = false;
  };
  struct alignas(64) SliceStep {
    kernels::StepArgs args;
  };

  size_t activation_blocks() const { return program_.activation_blocks(workers()); }
  size_t slices_bytes() const;
  std::byte* operand_address(const compiler::Operand& operand, int slice) const;
  std::byte* scratch_of(int worker) const;
  BoundCall bind(const compiler::Call& call, int slice);
  void run_call(const BoundCall& call, int slice) const;

  const compiler::Program& program_;
  VariableStore& variables_;
  WorkerTeam& team_;
  Arena arena_;
  size_t scratch_stride_ = 0;
  std::vector<const ir::Value*> feeds_;
  std::vector<std::vector<std::byte*>> feed_addresses_;  // [slice][feed]
  int64_t slice_batch_ = 0;
  std::vector<std::unique_ptr<const std::byte*[]>> input_arrays_;
  std::vector<std::unique_ptr<std::byte*[]>> output_arrays_;
  std::vector<std::vector<BoundCall>> calls_;  // [slice][call]
  std::vector<SliceStep> steps_;               // [slice]
};

}  // namespace pando::runtime
