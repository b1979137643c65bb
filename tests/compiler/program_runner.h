// Runs one micro-batch through a program of one slice, in memory laid out as its plan says, and
// returns its outputs. After each section, all memory that does not outlive it is filled with NaN.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pando/base/error.h"
#include "pando/compiler/program.h"
#include "pando/tensor/tensor.h"
#include "tests/support/run_graph.h"

namespace pando::compiler {

// Random numbers for all inputs of a graph; labels are classes below `classes`.
inline test::Values random_inputs(const ir::Graph& graph, int32_t classes) {
  test::Values inputs;
  uint64_t key = 1;
  for (const ir::Value* value : graph.inputs()) {
    if (value->type().dtype == DType::f32) {
      inputs.emplace(value->name(), test::random_tensor(value->shape(), ++key));
      continue;
    }
    Tensor labels(DType::i32, value->shape());
    for (int64_t i = 0; i < labels.elements(); ++i) {
      labels.i32()[static_cast<size_t>(i)] = static_cast<int32_t>(i) % classes;
    }
    inputs.emplace(value->name(), std::move(labels));
  }
  return inputs;
}

// The program and the inputs must outlive the runner.
class ProgramRunner {
 public:
  // Keys are such as "gradient conv2d/kernel".
  using Outputs = std::map<std::string, std::vector<float>>;

  ProgramRunner(const Program& program, const test::Values& inputs)
      : program_(program), inputs_(inputs), scratch_(blocks(program.scratch_bytes())) {
    PANDO_CHECK(program.slices() == 1, "a runner for one slice");
    memory_[{Region::packed, 0}] = blocks(program.memory().packed_bytes);
    for (int stage = 0; stage < program.stages(); ++stage) {
      StageMemory bytes = program.memory().stages[static_cast<size_t>(stage)];
      for (const Region region : kRegions) memory_[{region, stage}] = blocks(bytes.of(region));
    }
  }

  Outputs run(int64_t batch) {
    step_ = test::whole_batch(batch);
    step_.seed = 7;
    for (const ir::Value* value : program_.graph().inputs()) {
      if (value->role() != ir::InputRole::feed) continue;
      std::memcpy(address(program_.operand(value)), inputs_.at(value->name()).data(),
                  value->bytes());
    }
    for (const Segment& segment : program_.prologue()) {
      for (const int call : segment.calls) run_call(call);
    }
    for (int i = 0; i < static_cast<int>(program_.sections().size()); ++i) {
      for (const Segment& segment : program_.sections()[static_cast<size_t>(i)].segments) {
        for (const int call : segment.order) run_call(call);
      }
      if (i == program_.last_forward_section()) read(false);
      for (auto& [place, memory] : memory_) {
        const bool passing = place.first == Region::activations || place.first == Region::sums;
        if (passing) memory = blocks(memory.size() * sizeof(Block));
      }
    }
    read(true);
    return std::move(outputs_);
  }

 private:
  struct alignas(64) Block {
    std::array<std::byte, 64> bytes;
  };
  using Memory = std::vector<Block>;
  static constexpr std::array kRegions = {Region::activations,      Region::sums,
                                          Region::held_activations, Region::held_sums,
                                          Region::gradients,        Region::moments};

  // All bits set: every number is NaN.
  static Memory blocks(size_t bytes) {
    Block unset;
    unset.bytes.fill(std::byte{0xFF});
    return Memory((bytes + sizeof(Block) - 1) / sizeof(Block), unset);
  }

  std::byte* address(const Operand& operand) {
    if (operand.place.region == Region::external) {
      // Kernels take constant inputs.
      return const_cast<std::byte*>(inputs_.at(operand.value->name()).data());
    }
    Memory& memory = memory_.at({operand.place.region, operand.place.stage});
    return reinterpret_cast<std::byte*>(memory.data()) + operand.place.offset;
  }

  void run_call(int index) {
    const Call& call = program_.runnable(index);
    std::vector<std::byte*> inputs;
    std::vector<std::byte*> outputs;
    for (const Operand& operand : call.inputs) inputs.push_back(address(operand));
    for (const Operand& operand : call.outputs) outputs.push_back(address(operand));
    call.kernel->run({.inputs = inputs.data(),
                      .outputs = outputs.data(),
                      .scratch = reinterpret_cast<std::byte*>(scratch_.data()),
                      .num_inputs = static_cast<int>(inputs.size())},
                     step_);
  }

  // Reads outputs after forward, or accumulated outputs.
  void read(bool accumulated) {
    for (const ir::Output& output : program_.graph().outputs()) {
      const bool kept =
          output.role == ir::OutputRole::gradient || output.role == ir::OutputRole::statistic;
      if (kept != accumulated) continue;
      std::vector<float>& numbers =
          outputs_[std::string(to_string(output.role)) + " " + output.name];
      numbers.resize(static_cast<size_t>(output.value->shape().elements()));
      std::memcpy(numbers.data(), address(program_.operand(output.value)), output.value->bytes());
    }
  }

  const Program& program_;
  const test::Values& inputs_;
  Memory scratch_;
  std::map<std::pair<Region, int>, Memory> memory_;
  kernels::StepArgs step_;
  Outputs outputs_;
};

}  // namespace pando::compiler
