// SPDX-License-Identifier: MIT
#include "pando/runtime/program/bound_program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pando/base/error.h"
#include "pando/base/random.h"
#include "pando/ops/op.h"

namespace pando::runtime {

namespace {

constexpr size_t kLeastArena = 4096;

// Regions that each slice or part has for itself: its share of a sum, or values computed from sums.
bool is_sum(compiler::Region region) {
  return region == compiler::Region::sums || region == compiler::Region::held_sums ||
         region == compiler::Region::gradients || region == compiler::Region::moments;
}

}  // namespace

BoundProgram::BoundProgram(const compiler::Program& program, VariableStore& variables,
                           WorkerTeam& team, Placement placement)
    : program_(program),
      variables_(variables),
      team_(team),
      placement_(std::move(placement)),
      devices_per_replica_(placement_.devices_per_replica(program.stages())),
      held_(held_micro_batches(program, placement_)),
      packed_(std::max(program.memory().packed_bytes, kLeastArena)),
      bound_(program.sections().size() *
             static_cast<size_t>(placement_.replicas * program.slices())),
      gradients_(program.memory().buckets.size()),
      buckets_done_(program.memory().buckets.size()) {
  const int devices = placement_.replicas * devices_per_replica_;
  if (devices > team.devices()) {
    throw InvalidArgument(placement_.replicas, " replicas with ", devices_per_replica_,
                          " devices each: expected at least ", devices, " devices, got ",
                          team.devices(), "; use fewer replicas or more devices");
  }
  for (const ir::Value* value : program.graph().inputs()) {
    if (value->role() == ir::InputRole::feed) feeds_.push_back(program.operand(value));
  }
  PANDO_CHECK(!feeds_.empty(), "a program needs at least one feed");
  PANDO_CHECK(placement_.feed_fields.empty() || placement_.feed_fields.size() == feeds_.size(),
              "expected fields for ", feeds_.size(), " feeds, got ", placement_.feed_fields.size());
  slice_batch_ = feeds_.front().value->shape()[0];
  for (const ir::Output& output : program.graph().outputs()) {
    const bool known = std::any_of(moments_.begin(), moments_.end(), [&](const auto& operand) {
      return operand.value == output.value;
    });
    if (output.role == ir::OutputRole::statistic && !known) {
      moments_.push_back(program.operand(output.value));
    }
  }
  find_gradients();
  for (int device = 0; device < devices; ++device) {
    memory_.push_back(std::make_unique<DeviceMemory>(
        program,
        device_load(program, placement_, device % devices_per_replica_, team.workers_of(device))));
    packers_ += team.workers_of(device);
  }
  if (placement_.gathers_instances()) {
    statistics_ = std::make_unique<StatisticsExchange>(program, placement_);
  }
  for (int lane = 0; lane < lanes(); ++lane) {
    std::vector<BoundCall>& calls = calls_.emplace_back();
    for (int i = 0; i < program.runnables(); ++i) {
      const compiler::Call& call = program.runnable(i);
      calls.push_back(bind(call, lane, call.section));
    }
  }
  // The workers of a device touch its memory first, so that it is near them.
  team_.run([&](int worker) {
    const int device = team_.device_of(worker);
    if (device >= static_cast<int>(memory_.size())) return;
    Arena& arena = memory_[static_cast<size_t>(device)]->arena();
    const kernels::Part part{worker - team_.first_worker(device), team_.workers_of(device)};
    const auto size = static_cast<int64_t>(arena.size());
    arena.prefault(static_cast<size_t>(part.begin(size)), static_cast<size_t>(part.end(size)));
  });
}

size_t BoundProgram::bucket_of(const compiler::Place& gradient) const {
  const std::vector<compiler::Bucket>& buckets = program_.memory().buckets;
  const auto found = std::find_if(buckets.begin(), buckets.end(), [&](const auto& bucket) {
    return bucket.stage == gradient.stage && bucket.begin <= gradient.offset &&
           gradient.offset < bucket.end;
  });
  PANDO_CHECK(gradient.region == compiler::Region::gradients && found != buckets.end(),
              "a gradient at ", gradient.offset, " is in no bucket");
  return static_cast<size_t>(found - buckets.begin());
}

void BoundProgram::find_gradients() {
  bool first = true;
  for (const ir::Output& output : program_.graph().outputs()) {
    if (output.role != ir::OutputRole::gradient) continue;
    const DType type = output.value->type().dtype;
    if (std::exchange(first, false)) gradient_type_ = type;
    PANDO_CHECK(type == gradient_type_, "the gradient of '", output.name, "' is ",
                pando::to_string(type), ", others are ", pando::to_string(gradient_type_));
    const compiler::Place place = program_.operand(output.value).place;
    const size_t bucket = bucket_of(place);
    gradients_[bucket].push_back({.offset = place.offset - program_.memory().buckets[bucket].begin,
                                  .elements = output.value->shape().elements(),
                                  .key = hash_name(output.name)});
  }
}

int BoundProgram::device_of(int replica, int stage) const {
  return replica * devices_per_replica_ + placement_.device_of(stage);
}

int BoundProgram::worker_of(int lane, int stage) const {
  const int device = device_of(replica_of(lane), stage);
  return team_.first_worker(device) + lane % slices() % team_.workers_of(device);
}

std::byte* BoundProgram::address(const compiler::Operand& operand, int lane,
                                 int micro_batch) const {
  if (operand.place.region == compiler::Region::external) {
    // Asks for a const variable, because programs only read variables.
    const Tensor& value = std::as_const(variables_).get(operand.value->name()).value;
    return const_cast<std::byte*>(value.data());
  }
  if (operand.place.region == compiler::Region::packed) {
    return packed_.data() + operand.place.offset;
  }
  const int device = device_of(replica_of(lane), operand.place.stage);
  return memory_[static_cast<size_t>(device)]->address(operand.place, lane % slices(), micro_batch);
}

bool BoundProgram::moves(const compiler::Operand& operand) const {
  switch (operand.place.region) {
    case compiler::Region::held_activations:
    case compiler::Region::held_sums: return held(operand.place.stage) > 1;
    case compiler::Region::gradients:
    case compiler::Region::moments: return placement_.micro_batches > 1;
    default: return false;
  }
}

bool BoundProgram::same_addresses(int a, int b) const {
  if (a < 0 || b < 0 || (a == 0) != (b == 0)) return false;
  return std::all_of(held_.begin(), held_.end(), [&](int held) { return a % held == b % held; });
}

// The first of the lanes that compute batch statistics together with this one.
int BoundProgram::gather_first(int lane) const {
  const int group = placement_.statistics_group * slices();
  return lane / group * group;
}

void BoundProgram::bind_array(std::byte** array,
                              const std::vector<std::pair<compiler::Operand, int>>& operands,
                              Bound* bound) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto& [operand, lane] = operands[i];
    array[i] = address(operand, lane, 0);
    if (bound != nullptr && moves(operand)) bound->moving.push_back({&array[i], operand, lane});
  }
}

// The statistics of other instances stay in one place for all micro-batches.
void BoundProgram::bind_elsewhere(const compiler::Call& call, std::byte** array, Bound* bound) {
  const int gathered = placement_.statistics_group * slices();
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    for (int i = 0; i < gathered; ++i) {
      if (!statistics_->is_elsewhere(i)) continue;
      std::byte** at = &array[k * static_cast<size_t>(gathered) + static_cast<size_t>(i)];
      *at = statistics_->address(call.inputs[k].value, i);
      if (bound != nullptr) {
        std::erase_if(bound->moving, [at](const Moving& moving) { return moving.at == at; });
      }
    }
  }
}

void BoundProgram::gather(const compiler::Segment& segment, int micro_batch) {
  statistics_->run(
      segment,
      [&](const compiler::Operand& operand, int lane) {
        return address(operand, lane, micro_batch);
      },
      poll_);
}

BoundProgram::BoundCall BoundProgram::bind(const compiler::Call& call, int lane, int section) {
  std::vector<std::pair<compiler::Operand, int>> inputs;
  std::vector<std::pair<compiler::Operand, int>> outputs;
  const int gathered = placement_.statistics_group * slices();
  for (const compiler::Operand& operand : call.inputs) {
    if (!call.gathers_slices) {
      inputs.emplace_back(operand, lane);
      continue;
    }
    const int first = gather_first(lane);
    for (int i = 0; i < gathered; ++i) {
      // A group over several instances has only some of its lanes here; bind_elsewhere() sets the
      // addresses of the others.
      inputs.emplace_back(operand, statistics_ == nullptr ? first + i : i % lanes());
    }
  }
  for (const compiler::Operand& operand : call.outputs) outputs.emplace_back(operand, lane);
  Bound* moving = section < 0 ? nullptr : &bound(section, lane);
  std::byte** input_array =
      arrays_.emplace_back(std::make_unique<std::byte*[]>(inputs.size() + 1)).get();
  std::byte** output_array =
      arrays_.emplace_back(std::make_unique<std::byte*[]>(outputs.size() + 1)).get();
  bind_array(input_array, inputs, moving);
  if (call.gathers_slices && statistics_ != nullptr) bind_elsewhere(call, input_array, moving);
  bind_array(output_array, outputs, moving);
  const int stage = section < 0 ? 0 : program_.sections()[static_cast<size_t>(section)].stage;
  BoundCall bound{.kernel = call.kernel,
                  .args = {.inputs = input_array,
                           .outputs = output_array,
                           .scratch = scratch_of(worker_of(lane, stage)),
                           .num_inputs = static_cast<int>(inputs.size())},
                  .bucket = call.bucket};
  const bool batch_sum = ops::has_trait(*call.node, ops::Trait::batch_sum);
  if (batch_sum) {
    for (const ir::Value* value : call.node->outputs()) bound.sum_bytes.push_back(value->bytes());
  }
  if (!program_.in_parts() || slices() == 1) return bound;
  const bool own = is_sum(call.outputs[0].place.region) && !batch_sum;
  // Each part computes for itself what follows from sums; other work is divided among the parts.
  bound.split = call.kernel->splits() && !own;
  // A kernel that does not split runs once, for slice 0; the other slices add zeros to a sum.
  bound.runs = bound.split || own || lane % slices() == 0;
  return bound;
}

void BoundProgram::prepare(const SliceVisit& visit) {
  Bound& at = bound(visit.section, visit.lane);
  if (at.micro_batch == visit.micro_batch || same_addresses(at.micro_batch, visit.micro_batch)) {
    return;
  }
  for (const Moving& moving : at.moving) {
    *moving.at = address(moving.operand, moving.lane, visit.micro_batch);
  }
  at.micro_batch = visit.micro_batch;
}

void BoundProgram::name_calls(profile::Trace& trace) {
  for (int i = 0; i < program_.runnables(); ++i) {
    const ir::Node& node = *program_.runnable(i).node;
    const int32_t name = trace.name_id(node.op() + " " + node.name());
    for (std::vector<BoundCall>& calls : calls_) calls[static_cast<size_t>(i)].name = name;
  }
}

std::byte* BoundProgram::scratch_of(int worker) const {
  const int device = team_.device_of(worker);
  return memory_[static_cast<size_t>(device)]->scratch(worker - team_.first_worker(device));
}

int64_t BoundProgram::slice_first(int slice) const {
  return program_.in_parts() ? 0 : slice * slice_batch_;
}

int64_t BoundProgram::slice_valid(int slice, int64_t valid) const {
  if (program_.in_parts()) return slice == 0 ? valid : 0;
  return std::clamp<int64_t>(valid - slice * slice_batch_, 0, slice_batch_);
}

void BoundProgram::feed(int lane, int micro_batch, const Batch* batch, int64_t valid) const {
  const int slice = lane % slices();
  if (program_.in_parts() && slice != 0) return;
  for (size_t i = 0; i < feeds_.size(); ++i) {
    const int field = placement_.field_of(i);
    const ir::Value* value = feeds_[i].value;
    std::byte* to = address(feeds_[i], lane, micro_batch);
    if (field < 0 || valid == 0) {
      std::memset(to, 0, value->bytes());
      continue;
    }
    const size_t row = value->bytes() / static_cast<size_t>(slice_batch_);
    const auto real = static_cast<size_t>(slice_valid(slice, valid));
    const std::byte* from = batch->fields[static_cast<size_t>(field)].data();
    if (real > 0) {
      std::memcpy(to, from + static_cast<size_t>(slice_first(slice)) * row, real * row);
    }
    // Padding repeats a sample: of zeros, a network may compute infinite numbers, and an infinite
    // number times a gradient of 0 is NaN.
    for (size_t at = real; at < static_cast<size_t>(slice_batch_); ++at) {
      std::memcpy(to + at * row, from, row);
    }
  }
}

}  // namespace pando::runtime
