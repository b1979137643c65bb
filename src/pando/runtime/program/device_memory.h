// The memory of one device: what the stages on it need, block by block, in one arena.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pando/compiler/program.h"
#include "pando/runtime/machine/arena.h"
#include "pando/runtime/program/placement.h"

namespace pando::runtime {

// The memory that a device of a program holds.
struct DeviceLoad {
  std::vector<int> stages;  // those that run on it
  std::vector<int> held;    // micro-batches that each of them holds at once
  int workers = 1;
  bool accumulates = false;  // over several micro-batches
};

// Bytes by purpose.
struct MemoryUse {
  size_t activations = 0;  // within a section
  size_t held = 0;         // from one section to a later one, for all micro-batches in flight
  size_t gradients = 0;
  size_t sums = 0;  // and statistics
  size_t scratch = 0;
  size_t total() const { return activations + held + gradients + sums + scratch; }
  void add(const MemoryUse& other);
};

// How many micro-batches each stage holds at once under a placement. Without training a stage
// holds what the stages after it have not read yet.
std::vector<int> held_micro_batches(const compiler::Program& program, const Placement& placement);

// The load of device `local` of a replica.
DeviceLoad device_load(const compiler::Program& program, const Placement& placement, int local,
                       int workers);
MemoryUse memory_use(const compiler::Program& program, const DeviceLoad& load);

// Owns the arena of one device and knows where the blocks begin.
class DeviceMemory {
 public:
  DeviceMemory(const compiler::Program& program, const DeviceLoad& load);

  // The address of a place that belongs to a stage of this device.
  std::byte* address(const compiler::Place& place, int slice, int micro_batch) const;
  std::byte* scratch(int worker) const;  // numbered within the device
  Arena& arena() { return *arena_; }
  const MemoryUse& use() const { return use_; }

 private:
  friend MemoryUse memory_use(const compiler::Program& program, const DeviceLoad& load);

  // A run of equal blocks.
  struct Blocks {
    size_t begin = 0;
    size_t stride = 0;
    size_t count = 1;
    size_t at(size_t index) const { return begin + index % count * stride; }
  };
  struct StageBlocks {
    Blocks held_activations, held_sums, gradients, moments;
    size_t held = 1;
  };

  struct Unbacked {};
  DeviceMemory(const compiler::Program& program, const DeviceLoad& load, Unbacked);
  Blocks take(size_t stride, size_t count);

  size_t slices_ = 1;
  size_t held_slices_ = 1;  // blocks of held activations of one micro-batch
  bool accumulates_ = false;
  Blocks activations_, sums_, scratch_;
  std::vector<StageBlocks> stages_;  // by stage; only those of this device are filled
  size_t bytes_ = 0;
  MemoryUse use_;
  std::optional<Arena> arena_;
};

}  // namespace pando::runtime
