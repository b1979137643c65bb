// SPDX-License-Identifier: MIT
#include "pando/runtime/program/device_memory.h"

#include <algorithm>

#include "pando/base/error.h"

namespace pando::runtime {

namespace {

// Blocks begin on pages of their own, so no two workers write to one cache line.
constexpr size_t kBlockAlignment = 4096;

size_t round_up(size_t bytes) {
  return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

}  // namespace

void MemoryUse::add(const MemoryUse& other) {
  activations += other.activations;
  held += other.held;
  gradients += other.gradients;
  sums += other.sums;
  scratch += other.scratch;
}

std::vector<int> held_micro_batches(const compiler::Program& program, const Placement& placement) {
  const int stages = program.stages();
  if (!program.pipelined()) return std::vector<int>(static_cast<size_t>(stages), 1);
  const bool training = program.section(0, true) >= 0;
  const PipelineShape shape{.schedule = placement.schedule,
                            .stages = stages,
                            .micro_batches = placement.micro_batches,
                            .training = training,
                            .device_of_stage = placement.device_of_stage};
  std::vector<int> held;
  for (int stage = 0; stage < stages; ++stage) {
    const int unread = record_of(placement.schedule).one_at_a_time ? 1 : stages - stage;
    held.push_back(training ? held_micro_batches(shape, stage) : unread);
  }
  return held;
}

DeviceLoad device_load(const compiler::Program& program, const Placement& placement, int local,
                       int workers) {
  DeviceLoad load{.workers = workers, .accumulates = placement.micro_batches > 1};
  const std::vector<int> held = held_micro_batches(program, placement);
  for (int stage = 0; stage < program.stages(); ++stage) {
    if (placement.device_of(stage) != local) continue;
    load.stages.push_back(stage);
    load.held.push_back(held[static_cast<size_t>(stage)]);
  }
  return load;
}

DeviceMemory::Blocks DeviceMemory::take(size_t stride, size_t count) {
  const Blocks blocks{bytes_, round_up(stride), std::max<size_t>(count, 1)};
  bytes_ += blocks.stride * blocks.count;
  return blocks;
}

DeviceMemory::DeviceMemory(const compiler::Program& program, const DeviceLoad& load, Unbacked)
    : slices_(static_cast<size_t>(program.slices())),
      held_slices_(program.in_parts() ? 1 : slices_),
      accumulates_(load.accumulates),
      stages_(static_cast<size_t>(program.stages())) {
  size_t activations = 0;
  size_t sums = 0;
  const size_t copies = load.accumulates ? 2 : 1;  // the accumulator and the newest micro-batch
  for (size_t i = 0; i < load.stages.size(); ++i) {
    const auto stage = static_cast<size_t>(load.stages[i]);
    const compiler::StageMemory& need = program.memory().stages[stage];
    StageBlocks& blocks = stages_[stage];
    blocks.held = static_cast<size_t>(load.held[i]);
    const size_t before = bytes_;
    blocks.held_activations = take(need.held_activations, blocks.held * held_slices_);
    blocks.held_sums = take(need.held_sums, blocks.held * slices_);
    use_.held += bytes_ - before;
    blocks.gradients = take(need.gradients, copies * slices_);
    use_.gradients += blocks.gradients.stride * blocks.gradients.count;
    blocks.moments = take(need.moments, copies * slices_);
    use_.sums += blocks.moments.stride * blocks.moments.count;
    // The stages of a device take turns, so they share the memory that is live only within a
    // section.
    activations = std::max(activations, need.activations);
    sums = std::max(sums, need.sums);
  }
  activations_ = take(activations, program.activation_blocks(load.workers));
  use_.activations = activations_.stride * activations_.count;
  sums_ = take(sums, slices_);
  use_.sums += sums_.stride * sums_.count;
  scratch_ = take(program.scratch_bytes(), static_cast<size_t>(load.workers));
  use_.scratch = scratch_.stride * scratch_.count;
}

DeviceMemory::DeviceMemory(const compiler::Program& program, const DeviceLoad& load)
    : DeviceMemory(program, load, Unbacked{}) {
  arena_.emplace(std::max(bytes_, kBlockAlignment));
}

MemoryUse memory_use(const compiler::Program& program, const DeviceLoad& load) {
  return DeviceMemory(program, load, DeviceMemory::Unbacked{}).use_;
}

std::byte* DeviceMemory::address(const compiler::Place& place, int slice, int micro_batch) const {
  const StageBlocks& stage = stages_[static_cast<size_t>(place.stage)];
  const auto index = static_cast<size_t>(slice);
  const size_t slot = static_cast<size_t>(micro_batch) % stage.held;
  const size_t copy = accumulates_ && micro_batch > 0 ? 1 : 0;
  size_t at = 0;
  switch (place.region) {
    case compiler::Region::activations: at = activations_.at(index); break;
    case compiler::Region::sums: at = sums_.at(index); break;
    case compiler::Region::held_activations:
      at = stage.held_activations.at(slot * held_slices_ + index % held_slices_);
      break;
    case compiler::Region::held_sums: at = stage.held_sums.at(slot * slices_ + index); break;
    case compiler::Region::gradients: at = stage.gradients.at(copy * slices_ + index); break;
    case compiler::Region::moments: at = stage.moments.at(copy * slices_ + index); break;
    case compiler::Region::packed:
    case compiler::Region::external:
      throw InternalError("a packed or external value is not in the memory of a device");
  }
  return arena_->data() + at + place.offset;
}

std::byte* DeviceMemory::scratch(int worker) const {
  return arena_->data() + scratch_.at(static_cast<size_t>(worker));
}

}  // namespace pando::runtime
