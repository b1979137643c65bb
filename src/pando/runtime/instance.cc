// SPDX-License-Identifier: MIT
#include "pando/runtime/instance.h"

#include <algorithm>
#include <cstring>

#include "pando/base/error.h"
#include "pando/ops/op.h"

namespace pando::runtime {

namespace {

// The arena holds the packed variables, then one block per slice, then one scratch per worker.
// Blocks begin on pages of their own, so no two workers write to one cache line.
constexpr size_t kBlockAlignment = 4096;

size_t round_up(size_t bytes) {
  return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

}  // namespace

Instance::Instance(const compiler::Program& program, VariableStore& variables, WorkerTeam& team)
    : program_(program),
      variables_(variables),
      team_(team),
      arena_(round_up(program.memory().packed_bytes) + slices_bytes() +
             static_cast<size_t>(team.size()) * round_up(program.scratch_bytes())),
      scratch_stride_(round_up(program.scratch_bytes())),
      steps_(static_cast<size_t>(program.slices())) {
  for (const ir::Value* value : program.graph().inputs()) {
    if (value->role() == ir::InputRole::feed) feeds_.push_back(value);
  }
  PANDO_CHECK(!feeds_.empty(), "a program needs at least one feed");
  slice_batch_ = feeds_.front()->shape()[0];
  for (int slice = 0; slice < slices(); ++slice) {
    std::vector<BoundCall>& bound = calls_.emplace_back();
    for (const compiler::Call& call : program.calls()) bound.push_back(bind(call, slice));
    std::vector<std::byte*>& addresses = feed_addresses_.emplace_back();
    for (const ir::Value* value : feeds_) addresses.push_back(address(value, slice));
  }
  team_.run([&](int worker) {
    const kernels::Part part{worker, workers()};
    const auto size = static_cast<int64_t>(arena_.size());
    arena_.prefault(static_cast<size_t>(part.begin(size)), static_cast<size_t>(part.end(size)));
  });
}

size_t Instance::slices_bytes() const {
  const compiler::MemoryPlan& plan = program_.memory();
  return activation_blocks() * round_up(plan.activation_bytes) +
         static_cast<size_t>(program_.slices()) * round_up(plan.sum_bytes);
}

std::byte* Instance::operand_address(const compiler::Operand& operand, int slice) const {
  const compiler::MemoryPlan& plan = program_.memory();
  const auto index = static_cast<size_t>(slice);
  const size_t activations = round_up(plan.packed_bytes);
  const size_t sums = activations + activation_blocks() * round_up(plan.activation_bytes);
  switch (operand.place.region) {
    case compiler::Region::packed: return arena_.data() + operand.place.offset;
    case compiler::Region::activations:
      return arena_.data() + activations + operand.place.offset +
             index % activation_blocks() * round_up(plan.activation_bytes);
    case compiler::Region::sums:
      return arena_.data() + sums + index * round_up(plan.sum_bytes) + operand.place.offset;
    case compiler::Region::external: break;
  }
  return variables_.get(operand.value->name()).value.data();
}

std::byte* Instance::address(const ir::Value* value, int slice) const {
  return operand_address(program_.operand(value), slice);
}

Instance::BoundCall Instance::bind(const compiler::Call& call, int slice) {
  std::vector<const std::byte*> inputs;
  for (const compiler::Operand& operand : call.inputs) {
    if (!call.gathers_slices) {
      inputs.push_back(operand_address(operand, slice));
      continue;
    }
    for (int other = 0; other < slices(); ++other)
      inputs.push_back(operand_address(operand, other));
  }
  auto& input_array =
      input_arrays_.emplace_back(std::make_unique<const std::byte*[]>(inputs.size() + 1));
  std::copy(inputs.begin(), inputs.end(), input_array.get());
  auto& output_array =
      output_arrays_.emplace_back(std::make_unique<std::byte*[]>(call.outputs.size()));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    output_array[i] = operand_address(call.outputs[i], slice);
  }
  BoundCall bound{.kernel = call.kernel,
                  .args = {.inputs = input_array.get(),
                           .outputs = output_array.get(),
                           .scratch = scratch_of(slice % workers()),
                           .num_inputs = static_cast<int>(inputs.size())}};
  if (!program_.in_parts() || slices() == 1) return bound;
  const bool batch_sum = ops::has_trait(*call.node, ops::Trait::batch_sum);
  const bool own = call.outputs[0].place.region == compiler::Region::sums && !batch_sum;
  // What follows from sums every part computes for itself; other work is shared out.
  bound.split = call.kernel->splits() && !own;
  // A kernel that does not split runs once, for slice 0; in a sum the others add nothing.
  bound.runs = bound.split || own || slice == 0;
  if (!bound.runs && batch_sum) {
    for (const ir::Value* value : call.node->outputs())
      bound.zeroed_bytes.push_back(value->bytes());
  }
  return bound;
}

void Instance::run_call(const BoundCall& call, int slice) const {
  for (size_t i = 0; i < call.zeroed_bytes.size(); ++i) {
    std::memset(call.args.outputs[i], 0, call.zeroed_bytes[i]);
  }
  if (!call.runs) return;
  const kernels::StepArgs& step = steps_[static_cast<size_t>(slice)].args;
  if (!call.split) return call.kernel->run(call.args, step);
  kernels::StepArgs part = step;
  part.part = {slice, slices()};
  call.kernel->run(call.args, part);
}

std::byte* Instance::scratch_of(int worker) const {
  return arena_.data() + round_up(program_.memory().packed_bytes) + slices_bytes() +
         static_cast<size_t>(worker) * scratch_stride_;
}

void Instance::run_prologue(int worker) const {
  for (const int index : program_.prologue()) {
    const BoundCall& bound = calls_[0][static_cast<size_t>(index)];
    kernels::KernelArgs args = bound.args;
    args.scratch = scratch_of(worker);
    if (!bound.kernel->splits()) {
      if (index % workers() == worker) bound.kernel->run(args, {});
      continue;
    }
    bound.kernel->run(args, {.part = {worker, workers()}});
  }
}

void Instance::run_segment(const compiler::Segment& segment, int slice) const {
  const std::vector<BoundCall>& calls = calls_[static_cast<size_t>(slice)];
  for (const int index : segment.calls) run_call(calls[static_cast<size_t>(index)], slice);
}

int64_t Instance::slice_first(int slice) const {
  return program_.in_parts() ? 0 : slice * slice_batch_;
}

int64_t Instance::slice_valid(int slice, int64_t valid) const {
  if (program_.in_parts()) return slice == 0 ? valid : 0;
  return std::clamp<int64_t>(valid - slice * slice_batch_, 0, slice_batch_);
}

void Instance::begin_step(int slice, int64_t valid, const kernels::StepArgs& common) {
  kernels::StepArgs& args = steps_[static_cast<size_t>(slice)].args;
  args = common;
  args.part = {};
  args.valid = program_.in_parts() ? valid : slice_valid(slice, valid);
  args.batch_valid = valid;
  args.first_sample = common.first_sample + slice_first(slice);
}

void Instance::feed(int slice, const std::byte* const* fields, int64_t valid) const {
  if (program_.in_parts() && slice != 0) return;
  const auto real = static_cast<size_t>(slice_valid(slice, valid));
  for (size_t i = 0; i < feeds_.size(); ++i) {
    const ir::Value* value = feeds_[i];
    const size_t row = value->bytes() / static_cast<size_t>(slice_batch_);
    std::byte* to = feed_addresses_[static_cast<size_t>(slice)][i];
    std::memcpy(to, fields[i] + static_cast<size_t>(slice_first(slice)) * row, real * row);
    std::memset(to + real * row, 0, value->bytes() - real * row);
  }
}

}  // namespace pando::runtime
